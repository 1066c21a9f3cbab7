// A learned factor and shift of each element.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = g x + b. x and y: [batch, ...] of one shape; "<name>/g", "<name>/b": the lengths of one example, or scalars
/// where they are shared. Gradient: dx = g dy; dg = sum of dy x and db = sum of dy over the batch. No penalty of [loss]
/// counts g or b. PyTorch's affine part of its normalizing layers.
class Scale : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Scale;
    static constexpr std::string_view kName = "scale";
    double factor = 1;    // what g starts at
    bool shift = true;    // is there a b?
    bool shared = false;  // one g and one b for all elements
    static void describe(Fields<Options>& f);
  };
  Scale(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Expr factor_, shift_;  // shift_: empty without
};

}  // namespace thtrain
