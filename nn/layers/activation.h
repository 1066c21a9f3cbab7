// An activation as a layer of its own.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = f(x), element by element: see nn/activations.h. x and y: [batch, ...] of one shape. No parameters.
class Activation : public Layer {
 public:
  struct Options : LayerOptions {
    std::string activation = "linear";
  };
  Activation(const Options& options, const LayerInput& input)
      : Layer("activation", options, input.shape), activation_(options.activation) {}

 protected:
  Expr forward(const Expr& x) const override;

 private:
  std::string activation_;
};

}  // namespace thtrain
