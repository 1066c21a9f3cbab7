#include "nn/layers/embedding.h"

#include "compiler/ops/index/index.h"
#include "nn/layers/one_hot.h"

namespace thtrain {

void Embedding::Options::describe(Fields<Options>& f) {
  f.about("Each symbol, which is an integer, as a row of a matrix W that is learned.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("outputs")
      .required()
      .synonyms({"embedding_dim", "output_dim", "size", "outputs"})
      .help("Numbers for each symbol, the columns of W.");
  describe_count(f);
  describe_init(f, &Options::init);
  describe_trained(f);
}

static Shape with_units(const Embedding::Options& options, const LayerInput& input) {
  Shape out = symbol_shape(only_input(Embedding::Options::kName, options, input));
  out.push_back(options.units);
  return out;
}

Embedding::Embedding(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, with_units(options, input)), count_(symbol_count(options, input)) {
  check_units(options, options.units, count_, input.dtype);
  w_ = add_param("W", draw_weights(options.init, count_, options.units, input.random), input.dtype, true).expr();
}

Expr Embedding::forward(std::span<const Expr> inputs, LayerPass&) const {
  return take(w_, symbols_of(inputs[0], count_));
}

LayerKind embedding_layer() {
  return layer_kind<Embedding>();
}

}  // namespace thtrain
