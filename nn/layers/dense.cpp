#include "nn/layers/dense.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "nn/activations.h"

namespace thtrain {

void Dense::Options::describe(Fields<Options>& f) {
  f.about("y = activation(x W + b).");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("outputs")
      .required()
      .synonyms({"outputs", "n_out", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of outputs, the columns of W.");
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .help("Function that is applied to each output.");
  f.field("bias", &Options::bias).help("Whether a bias b is added.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

Expr affine(const Expr& x, const Expr& w, const Expr& b, const SparseExamples* sparse) {
  Expr product = sparse && x.same(sparse->x) ? sparse->times(w) : dot(x, w);
  return b.has_value() ? product + b : product;
}

Dense::Dense(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {options.units}), activation_(options.activation) {
  int64_t length = row_length(Options::kName, options, input);
  check_units(options, options.units, length, input.dtype);
  Tensor w = draw_weights(options.init, length, options.units, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
}

Expr Dense::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  return apply_activation(activation_, affine(inputs[0], w_, b_, pass.sparse));
}

LayerKind dense_layer() {
  return layer_kind<Dense>();
}

}  // namespace thtrain
