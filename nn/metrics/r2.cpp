#include "nn/metrics/r2.h"

#include <cmath>
#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void R2::Options::describe(Fields<Options>& f) {
  f.about("The coefficient of determination, the mean over the outputs.");
}

std::unique_ptr<Metric> R2::Options::make() const {
  return std::make_unique<R2>(*this);
}

std::vector<MetricPart> R2::parts_of(const MetricInput& input, TargetForm) const {
  Expr y = cast(input.scores.value, DType::kFloat64), t = values_for(y, input.targets.value);
  y = y.rank() == 1 ? expand_dims(y, {1}) : flatten(y, 2);
  t = t.rank() == 1 ? expand_dims(t, {1}) : flatten(t, 2);
  const Expr& weights = input.targets.weights;
  Expr w = weights.has_value() ? cast(weights, DType::kFloat64) : ones({t.dims()[0]}, DType::kFloat64);
  return {{"errors", weighted_rows(sqr(t - y), weights)},
          {"targets", join(1, {expand_dims(w, {1}), t}), MetricPart::How::kSpread},
          {"examples", length(t, 0), MetricPart::How::kSum}};
}

MetricValue R2::value(const MetricTotals& totals) const {
  const Tensor errors = totals.total("errors"), targets = totals.total("targets");
  const bool enough = totals.number("examples") >= 2;
  MetricValue out{.number = 0};
  const int64_t outputs = errors.size();
  for (int64_t j = 0; j < outputs; ++j) {
    const double error = errors.as_double(j), spread = targets.as_double(outputs + j);
    double r2 = spread != 0 ? 1 - error / spread : error == 0 ? 1 : 0;
    if (!enough || std::isnan(error)) r2 = std::numeric_limits<double>::quiet_NaN();
    out.by_class.push_back(r2);
    *out.number += r2 / static_cast<double>(outputs);
  }
  return out;
}

Kind<MetricOptions> r2_metric() {
  return kind<R2::Options, MetricOptions>();
}

}  // namespace thtrain
