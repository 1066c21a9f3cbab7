// What is at the end of a sequence.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y_i = x[length_i - 1, i]: the last step of each sequence. x: [steps, batch, ...], y: [batch, ...]. The gradient goes
/// to that step alone. UserError where the input is no sequence.
class LastStep : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = LastStep;
    static constexpr std::string_view kName = "last_step";
    static void describe(Fields<Options>& f);
  };
  LastStep(const Options& options, const LayerInput& input);
  bool takes_sequences() const override { return true; }
  bool gives_sequence() const override { return false; }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;
};

}  // namespace thtrain
