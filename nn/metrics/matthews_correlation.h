// The correlation of decisions and classes.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2))
///
/// s: the sum of the weights of the examples, c: of those that are decided rightly, p_k: of those taken for class k,
/// t_k: of those of class k. From -1 to 1; 0 where all are taken for one class, or are of one. scikit-learn's
/// matthews_corrcoef; J. Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient",
/// Computational Biology and Chemistry 28, 2004.
class MatthewsCorrelation : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "matthews_correlation";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  MatthewsCorrelation() : MatthewsCorrelation(Options()) {}
  explicit MatthewsCorrelation(const Options& options)
      : Metric(std::string(Options::kName), Better::kLarger, "", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
