#include "nn/metrics/loss.h"

namespace thtrain {

void Loss::Options::describe(Fields<Options>& f) {
  f.about("The mean loss of the objective, without penalties.");
}

std::unique_ptr<Metric> Loss::Options::make() const {
  return std::make_unique<Loss>(*this);
}

std::vector<MetricPart> Loss::parts_of(const MetricInput& input, TargetForm) const {
  const ExampleLosses& losses = input.losses;
  TH_CHECK(losses.values.has_value(), "the metric loss without losses");
  return {{"loss", weighted_rows(losses.values, losses.weights)}, weight_part(losses.values, losses.weights)};
}

MetricValue Loss::value(const MetricTotals& totals) const {
  return {.number = totals.number("loss") / totals.number("weight")};
}

Kind<MetricOptions> loss_metric() {
  return kind<Loss::Options, MetricOptions>();
}

}  // namespace thtrain
