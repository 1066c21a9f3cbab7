// The mean squared error of values.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// The mean of (y - t)^2 over the outputs of each example and then over the examples, in float64. y and t: [n, ...].
/// scikit-learn's mean_squared_error.
class MeanSquaredError : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "mean_squared_error";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  MeanSquaredError() : MeanSquaredError(Options()) {}
  explicit MeanSquaredError(const Options& options)
      : Metric(std::string(Options::kName), Better::kSmaller, "", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
