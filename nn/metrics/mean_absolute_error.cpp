#include "nn/metrics/mean_absolute_error.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/metrics/decisions.h"

namespace thtrain {

void MeanAbsoluteError::Options::describe(Fields<Options>& f) {
  f.about("The mean of |y - t| over examples and outputs, in the units of the data.");
}

std::unique_ptr<Metric> MeanAbsoluteError::Options::make() const {
  return std::make_unique<MeanAbsoluteError>(*this);
}

std::vector<MetricPart> MeanAbsoluteError::parts_of(const MetricInput& input, TargetForm) const {
  Expr y = cast(input.scores.value, DType::kFloat64), t = values_for(y, input.targets.value);
  Expr error = y - t;
  if (input.unit.has_value()) error = error * cast(input.unit, DType::kFloat64);
  error = abs(error);
  if (error.rank() > 1) error = mean(error, axes_of_example(error));
  return {{"error", weighted_rows(error, input.targets.weights)}, weight_part(error, input.targets.weights)};
}

MetricValue MeanAbsoluteError::value(const MetricTotals& totals) const {
  return {.number = totals.number("error") / totals.number("weight")};
}

Kind<MetricOptions> mean_absolute_error_metric() {
  return kind<MeanAbsoluteError::Options, MetricOptions>();
}

}  // namespace thtrain
