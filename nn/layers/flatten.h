// Makes one row of each example.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y[i] = the elements of x[i] in row-major order. x: [batch, ...], y: [batch, product of the others]. A view; no
/// parameters.
class Flatten : public Layer {
 public:
  using Options = LayerOptions;
  Flatten(const Options& options, const LayerInput& input) : Layer("flatten", options, {element_count(input.shape)}) {}

 protected:
  Expr forward(const Expr& x) const override;
};

}  // namespace thtrain
