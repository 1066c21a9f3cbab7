#include "nn/layers/maxout.h"

#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/layers/dense.h"

namespace thtrain {

void Maxout::Options::describe(Fields<Options>& f) {
  f.about("y = the largest of `pieces` values of x W + b, for each unit.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("outputs")
      .required()
      .synonyms({"outputs", "n_out", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of outputs.");
  f.field("pieces", &Options::pieces)
      .range(between(2, 1000))
      .synonyms({"num_pieces"})
      .help("Values that each output is the largest of: W has as many columns for each unit.");
  f.field("bias", &Options::bias).help("Whether a bias b is added.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

Maxout::Maxout(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {options.units}), pieces_(options.pieces) {
  int64_t length = row_length(Options::kName, options, input);
  check_units(options, options.units, length, input.dtype, pieces_);
  int64_t columns = options.units * pieces_;
  w_ = add_param("W", draw_weights(options.init, length, columns, input.random), input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {columns}), input.dtype, false).expr();
}

Expr Maxout::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  Expr z = affine(inputs[0], w_, b_, pass.sparse);
  return max(reshape(z, {-1, output_shape()[0], pieces_}), 2);
}

LayerKind maxout_layer() {
  return layer_kind<Maxout>();
}

}  // namespace thtrain
