#include "nn/layers/softmax.h"

#include "compiler/ops/nnet/softmax.h"
#include "nn/layers/dense.h"

namespace thtrain {

Softmax::Softmax(const Options& options, const LayerInput& input) : Layer("softmax", options, {options.classes}) {
  if (input.shape.size() != 1)
    fail_layer("softmax", options, "one row of numbers for each example", input.shape,
               "a flatten layer before it makes rows");
  Tensor w = draw_weights(options.init, input.shape[0], options.classes, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {options.classes}), input.dtype, false).expr();
}

Expr Softmax::logits(const Expr& x) const {
  Scope scope(name(), position());
  return affine(x, w_, b_);
}

Expr Softmax::forward(const Expr& x) const {
  return softmax(affine(x, w_, b_));
}

}  // namespace thtrain
