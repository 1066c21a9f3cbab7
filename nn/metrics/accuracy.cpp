#include "nn/metrics/accuracy.h"

#include "nn/metrics/decisions.h"

namespace thtrain {

void Accuracy::Options::describe(Fields<Options>& f) {
  f.about("The share of examples, or of labels, that are decided rightly, in per cent.");
}

std::unique_ptr<Metric> Accuracy::Options::make() const {
  return std::make_unique<Accuracy>(*this);
}

std::optional<Message> Accuracy::misfit(const Scores& scores, TargetForm form) const {
  return misfit_of_classes(scores, form);
}

std::vector<MetricPart> Accuracy::parts_of(const MetricInput& input, TargetForm form) const {
  return decision_parts(input, form);
}

MetricValue Accuracy::value(const MetricTotals& totals) const {
  const double decisions = totals.number("decisions");
  return {.number = 100 * (decisions - totals.number("wrong")) / decisions};
}

Kind<MetricOptions> accuracy_metric() {
  return kind<Accuracy::Options, MetricOptions>();
}

}  // namespace thtrain
