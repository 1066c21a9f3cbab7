// Two recurrent layers, one of which walks sequences backwards.
#pragma once

#include "nn/recurrent.h"

namespace thtrain {

/// y_t = [forward_t, backward_t]: the outputs of two recurrent layers of one kind, joined along the features. The one
/// walks from the first step to the last, the other from the last step of each sequence to the first. With `output` =
/// kLast both give the state after their last step, which for the one that goes backwards is at step 0.
///
/// M. Schuster, K. K. Paliwal, "Bidirectional recurrent neural networks", IEEE Transactions on Signal Processing
/// 45(11), 1997; PyTorch's bidirectional = True. x: [steps, batch, in]; output: [steps, batch, 2 * units], or [batch, 2
/// * units]. The weights are those of the kinds under "<name>/forward" and "<name>/backward": "<name>/forward/W".
class Bidirectional : public Layer {
 public:
  enum class OfKind { kRnn, kLstm, kGru };
  struct Options : RecurrentOptions {
    using Makes = Bidirectional;
    static constexpr std::string_view kName = "bidirectional";
    OfKind kind = OfKind::kLstm;
    std::string activation = "tanh";  // of kRnn
    double forget_bias = 1;           // of kLstm
    bool reset_after = true;          // of kGru
    static void describe(Fields<Options>& f);
    /// UserError: one of its layers begins at the end.
    void go_step_by_step(const std::string& what);
  };
  static constexpr bool kTakesRows = true;
  static constexpr bool kIsRecurrent = true;
  Bidirectional(const Options& options, const LayerInput& input);
  bool takes_sequences() const override { return true; }
  bool gives_sequence() const override { return forward_->gives_sequence(); }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  std::shared_ptr<const Layer> forward_, backward_;
};

}  // namespace thtrain
