#include "nn/metrics/confusion_matrix.h"

#include "nn/metrics/class_counts.h"

namespace thtrain {

void ConfusionMatrix::Options::describe(Fields<Options>& f) {
  f.about("How many examples of each class, a row, are taken for each class, a column.");
}

std::unique_ptr<Metric> ConfusionMatrix::Options::make() const {
  return std::make_unique<ConfusionMatrix>(*this);
}

std::optional<Message> ConfusionMatrix::misfit(const Scores& scores, TargetForm) const {
  return misfit_of_table(scores);
}

std::vector<MetricPart> ConfusionMatrix::parts_of(const MetricInput& input, TargetForm) const {
  return {class_table(input)};
}

MetricValue ConfusionMatrix::value(const MetricTotals& totals) const {
  return {.matrix = totals.total("table").copy()};
}

Kind<MetricOptions> confusion_matrix_metric() {
  return kind<ConfusionMatrix::Options, MetricOptions>();
}

}  // namespace thtrain
