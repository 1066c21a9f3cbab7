#include "nn/metrics/mean_squared_error.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/metrics/decisions.h"

namespace thtrain {

void MeanSquaredError::Options::describe(Fields<Options>& f) {
  f.about("The mean of (y - t)^2 over examples and outputs, in the units of the data, squared.");
}

std::unique_ptr<Metric> MeanSquaredError::Options::make() const {
  return std::make_unique<MeanSquaredError>(*this);
}

std::vector<MetricPart> MeanSquaredError::parts_of(const MetricInput& input, TargetForm) const {
  Expr y = cast(input.scores.value, DType::kFloat64), t = values_for(y, input.targets.value);
  Expr error = y - t;
  if (input.unit.has_value()) error = error * cast(input.unit, DType::kFloat64);
  error = sqr(error);
  if (error.rank() > 1) error = mean(error, axes_of_example(error));
  return {{"error", weighted_rows(error, input.targets.weights)}, weight_part(error, input.targets.weights)};
}

MetricValue MeanSquaredError::value(const MetricTotals& totals) const {
  return {.number = totals.number("error") / totals.number("weight")};
}

Kind<MetricOptions> mean_squared_error_metric() {
  return kind<MeanSquaredError::Options, MetricOptions>();
}

}  // namespace thtrain
