// An activation as a layer of its own.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = f(x), element by element: see nn/activations.h. x and y: [batch, ...] of one shape. No parameters.
class Activation : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Activation;
    static constexpr std::string_view kName = "activation";
    std::string activation = "linear";
    static void describe(Fields<Options>& f);
  };
  Activation(const Options& options, const LayerInput& input)
      : Layer(Options::kName, options, only_input(Options::kName, options, input)), activation_(options.activation) {}

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  std::string activation_;
};

}  // namespace thtrain
