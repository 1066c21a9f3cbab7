#include "nn/layers/dense.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "nn/activations.h"

namespace thtrain {

Expr affine(const Expr& x, const Expr& w, const Expr& b) {
  Expr product = dot(x, w);
  return b.has_value() ? product + b : product;
}

Dense::Dense(const Options& options, const LayerInput& input)
    : Layer("dense", options, {options.units}), activation_(options.activation) {
  if (input.shape.size() != 1)
    fail_layer("dense", options, "one row of numbers for each example", input.shape,
               "a flatten layer before it makes rows");
  Tensor w = draw_weights(options.init, input.shape[0], options.units, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
}

Expr Dense::forward(const Expr& x) const {
  return apply_activation(activation_, affine(x, w_, b_));
}

}  // namespace thtrain
