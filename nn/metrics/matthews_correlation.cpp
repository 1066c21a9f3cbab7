#include "nn/metrics/matthews_correlation.h"

#include <cmath>

#include "nn/metrics/class_counts.h"

namespace thtrain {

void MatthewsCorrelation::Options::describe(Fields<Options>& f) {
  f.about("The correlation of decisions and classes, from -1 to 1; 0 is chance, however many there are of each class.");
}

std::unique_ptr<Metric> MatthewsCorrelation::Options::make() const {
  return std::make_unique<MatthewsCorrelation>(*this);
}

std::optional<Message> MatthewsCorrelation::misfit(const Scores& scores, TargetForm) const {
  return misfit_of_table(scores);
}

std::vector<MetricPart> MatthewsCorrelation::parts_of(const MetricInput& input, TargetForm) const {
  return {class_table(input)};
}

MetricValue MatthewsCorrelation::value(const MetricTotals& totals) const {
  const ClassCounts counts = class_counts(totals);
  double right = 0, all = 0, products = 0, predicted = 0, actual = 0;
  for (size_t k = 0; k < counts.both.size(); ++k) {
    right += counts.both[k];
    all += counts.actual[k];
    products += counts.predicted[k] * counts.actual[k];
    predicted += counts.predicted[k] * counts.predicted[k];
    actual += counts.actual[k] * counts.actual[k];
  }
  const double spread = (all * all - predicted) * (all * all - actual);
  return {.number = spread > 0 ? (right * all - products) / std::sqrt(spread) : 0};
}

Kind<MetricOptions> matthews_correlation_metric() {
  return kind<MatthewsCorrelation::Options, MetricOptions>();
}

}  // namespace thtrain
