#include "nn/metrics/error.h"

#include "nn/metrics/decisions.h"

namespace thtrain {

void ErrorRate::Options::describe(Fields<Options>& f) {
  f.about("The share of examples, or of labels, that are decided wrongly, in per cent.");
}

std::unique_ptr<Metric> ErrorRate::Options::make() const {
  return std::make_unique<ErrorRate>(*this);
}

std::optional<Message> ErrorRate::misfit(const Scores& scores, TargetForm form) const {
  return misfit_of_classes(scores, form);
}

std::vector<MetricPart> ErrorRate::parts_of(const MetricInput& input, TargetForm form) const {
  return decision_parts(input, form);
}

MetricValue ErrorRate::value(const MetricTotals& totals) const {
  return {.number = 100 * totals.number("wrong") / totals.number("decisions")};
}

Kind<MetricOptions> error_metric() {
  return kind<ErrorRate::Options, MetricOptions>();
}

}  // namespace thtrain
