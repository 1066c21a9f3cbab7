// How often each class is taken for each.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// C[actual, predicted] = the number of examples, or the sum of their weights: float64 [classes, classes]. Targets:
/// classes; one that is out of range is an error. scikit-learn's confusion_matrix.
class ConfusionMatrix : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "confusion_matrix";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  ConfusionMatrix() : ConfusionMatrix(Options()) {}
  explicit ConfusionMatrix(const Options& options)
      : Metric(std::string(Options::kName), Better::kNeither, "", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
