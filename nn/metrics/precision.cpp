#include "nn/metrics/precision.h"

namespace thtrain {

void Precision::Options::describe(Fields<Options>& f) {
  f.about("(predicted and there) / predicted, of each class and averaged.");
  describe_average(f);
}

std::unique_ptr<Metric> Precision::Options::make() const {
  return std::make_unique<Precision>(*this);
}

std::optional<Message> Precision::misfit(const Scores& scores, TargetForm form) const {
  return misfit_of_average(options_, scores, form);
}

std::vector<MetricPart> Precision::parts_of(const MetricInput& input, TargetForm form) const {
  return class_count_parts(input, form);
}

MetricValue Precision::value(const MetricTotals& totals) const {
  auto ratio = [](double both, double predicted, double) { return predicted == 0 ? 0 : both / predicted; };
  return averaged(class_counts(totals), options_.average, ratio);
}

Kind<MetricOptions> precision_metric() {
  return kind<Precision::Options, MetricOptions>();
}

}  // namespace thtrain
