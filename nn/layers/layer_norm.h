// Layer normalization: each example by itself.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = g (x - mean) / sqrt(variance + epsilon) + b, with mean and variance of each example over its last `axes` axes.
/// J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer normalization", 2016, eq. 4; PyTorch's LayerNorm.
/// x and y: [batch, ...] of one shape; "<name>/g" and "<name>/b" have the lengths of those axes, and start at 1 and 0.
/// The same in training and evaluation, no state. No penalty of [loss] counts g or b. UserError where there are fewer
/// axes.
class LayerNorm : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = LayerNorm;
    static constexpr std::string_view kName = "layer_norm";
    std::optional<int64_t> axes = {};  // none: all
    double epsilon = 1e-5;
    bool affine = true;  // are there g and b?
    static void describe(Fields<Options>& f);
  };
  LayerNorm(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t axes_;
  double epsilon_;
  Expr factor_, shift_;  // empty where there are none
};

}  // namespace thtrain
