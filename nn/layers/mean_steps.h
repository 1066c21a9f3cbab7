// The mean of a sequence.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y_i = the mean over t < length_i of x[t, i]. x: [steps, batch, ...], y: [batch, ...]. d x[t, i] = d y_i / length_i,
/// and 0 behind the end of the sequence. UserError where the input is no sequence.
class MeanSteps : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = MeanSteps;
    static constexpr std::string_view kName = "mean_steps";
    static void describe(Fields<Options>& f);
  };
  MeanSteps(const Options& options, const LayerInput& input);
  bool takes_sequences() const override { return true; }
  bool gives_sequence() const override { return false; }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;
};

}  // namespace thtrain
