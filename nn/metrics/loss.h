// The mean loss of the objective.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// sum_i w_i l_i / sum_i w_i of MetricInput::losses, which Objective::losses gives. Without the penalties of weights.
class Loss : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "loss";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  Loss() : Loss(Options()) {}
  /// Of one of several outputs: "loss.digit".
  explicit Loss(const std::string& output) : Metric("loss." + output, Better::kSmaller, "", Options()) {}
  explicit Loss(const Options& options) : Metric(std::string(Options::kName), Better::kSmaller, "", options) {}

  bool reads_losses() const override { return true; }
  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override {
    return {TargetForm::kClasses, TargetForm::kValues, TargetForm::kNone, TargetForm::kLabelSequences};
  }
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
