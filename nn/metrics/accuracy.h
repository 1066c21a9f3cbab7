// The share of right decisions.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// 100 (right decisions) / (decisions), per cent: 100 - the metric error.
class Accuracy : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "accuracy";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  Accuracy() : Accuracy(Options()) {}
  explicit Accuracy(const Options& options) : Metric(std::string(Options::kName), Better::kLarger, "%", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
