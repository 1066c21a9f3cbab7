// The share of examples whose class is not among the k largest scores.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// 100 (examples with at least k classes before their own) / (examples), per cent. Class j is before class t where its
/// score is larger, or equal and j < t, so that k = 1 is the metric error; a NaN is larger than any number, and equal
/// to a NaN. Scores: [n, classes], targets: classes, which are checked to be in range. scikit-learn's 1 -
/// top_k_accuracy_score, but of equal scores, where that takes the last first.
class TopKError : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "top_k_error";
    int64_t k = 5;
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  TopKError() : TopKError(Options()) {}
  explicit TopKError(const Options& options)
      : Metric(str("top_", options.k, "_error"), Better::kSmaller, "%", options), options_(options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
