// The coefficient of determination: how much of the spread of the targets is explained.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// R^2 = 1 - sum w (t - y)^2 / sum w (t - mean(t))^2 for each output, and their mean. y and t: [n, ...], in float64. An
/// output whose targets are all equal has 1 where all errors are 0, else 0; fewer than two examples give NaN.
/// scikit-learn's r2_score; N. R. Draper, H. Smith, "Applied regression analysis", 1998.
class R2 : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "r2";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  R2() : R2(Options()) {}
  explicit R2(const Options& options) : Metric(std::string(Options::kName), Better::kLarger, "", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
