#include "nn/metrics/recall.h"

namespace thtrain {

void Recall::Options::describe(Fields<Options>& f) {
  f.about("(predicted and there) / there, of each class and averaged.");
  describe_average(f);
}

std::unique_ptr<Metric> Recall::Options::make() const {
  return std::make_unique<Recall>(*this);
}

std::optional<Message> Recall::misfit(const Scores& scores, TargetForm form) const {
  return misfit_of_average(options_, scores, form);
}

std::vector<MetricPart> Recall::parts_of(const MetricInput& input, TargetForm form) const {
  return class_count_parts(input, form);
}

MetricValue Recall::value(const MetricTotals& totals) const {
  auto ratio = [](double both, double, double actual) { return actual == 0 ? 0 : both / actual; };
  return averaged(class_counts(totals), options_.average, ratio);
}

Kind<MetricOptions> recall_metric() {
  return kind<Recall::Options, MetricOptions>();
}

}  // namespace thtrain
