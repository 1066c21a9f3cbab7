// The sum of several layers.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = activation(x_1 + x_2 + ...), from left to right: with an input that skips layers, the residual connection of K.
/// He, X. Zhang, S. Ren, J. Sun, "Deep residual learning for image recognition", CVPR 2016, eq. 1 and figure 2.
/// All inputs and y: [batch, ...] of one shape. No parameters. UserError for other shapes, or one input alone.
class Add : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Add;
    static constexpr std::string_view kName = "add";
    std::string activation = "linear";  // see nn/activations.h
    static void describe(Fields<Options>& f);
  };
  Add(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  std::string activation_;
};

}  // namespace thtrain
