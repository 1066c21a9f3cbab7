#include "nn/metrics/f1.h"

namespace thtrain {

void F1::Options::describe(Fields<Options>& f) {
  f.about("2 (predicted and there) / (predicted + there), of each class and averaged.");
  describe_average(f);
}

std::unique_ptr<Metric> F1::Options::make() const {
  return std::make_unique<F1>(*this);
}

std::optional<Message> F1::misfit(const Scores& scores, TargetForm form) const {
  return misfit_of_average(options_, scores, form);
}

std::vector<MetricPart> F1::parts_of(const MetricInput& input, TargetForm form) const {
  return class_count_parts(input, form);
}

MetricValue F1::value(const MetricTotals& totals) const {
  auto ratio = [](double both, double predicted, double actual) {
    return predicted + actual == 0 ? 0 : 2 * both / (predicted + actual);
  };
  return averaged(class_counts(totals), options_.average, ratio);
}

Kind<MetricOptions> f1_metric() {
  return kind<F1::Options, MetricOptions>();
}

}  // namespace thtrain
