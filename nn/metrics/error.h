// The share of wrong decisions.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// 100 (wrong decisions) / (decisions), per cent. Classes: a decision for each example, wrong where the predicted class
/// is not the target. Values [n, k]: a decision for each label. scikit-learn's 1 - accuracy_score, and hamming_loss of
/// several labels.
class ErrorRate : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "error";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  ErrorRate() : ErrorRate(Options()) {}
  explicit ErrorRate(const Options& options) : Metric(std::string(Options::kName), Better::kSmaller, "%", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
