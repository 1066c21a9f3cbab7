// Ratios of the counts of each class, averaged: precision, recall and F1.
#pragma once

#include "nn/metrics/class_counts.h"

namespace thtrain {

/// `of(both, predicted, actual)` for each class or label: the weights of the examples that are predicted to be of it
/// and are, that are predicted to be, and that are. 0 / 0 is 0: a class that is neither predicted nor there has 0, and
/// counts in the mean of `macro`. Scores and targets of classes or of labels.
struct ClassRatio {
  std::string_view name, about;
  double (*of)(double both, double predicted, double actual);
};

/// scikit-learn's precision_score, recall_score and f1_score with labels=range(classes) and zero_division=0. F1 is the
/// harmonic mean of the others.
inline constexpr ClassRatio kPrecision = {
    "precision", "(predicted and there) / predicted, of each class and averaged.",
    [](double both, double predicted, double) { return predicted == 0 ? 0 : both / predicted; }};
inline constexpr ClassRatio kRecall = {
    "recall", "(predicted and there) / there, of each class and averaged.",
    [](double both, double, double actual) { return actual == 0 ? 0 : both / actual; }};
inline constexpr ClassRatio kF1 = {"f1", "2 (predicted and there) / (predicted + there), of each class and averaged.",
                                   [](double both, double predicted, double actual) {
                                     return predicted + actual == 0 ? 0 : 2 * both / (predicted + actual);
                                   }};

template <const ClassRatio& ratio>
class Averaged : public Metric {
 public:
  struct Options : AverageOptions {
    static constexpr std::string_view kName = ratio.name;
    std::unique_ptr<Metric> make() const override { return std::make_unique<Averaged>(*this); }
    static void describe(Fields<Options>& f) {
      f.about(ratio.about);
      describe_average(f);
    }
  };
  Averaged() : Averaged(Options()) {}
  explicit Averaged(const Options& options)
      : Metric(std::string(ratio.name), Better::kLarger, "", options), options_(options) {}

  MetricValue value(const MetricTotals& totals) const override {
    return averaged(class_counts(totals), options_.average, ratio.of);
  }

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override {
    return misfit_of_average(options_, scores, form);
  }
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override {
    return class_count_parts(input, form);
  }

 private:
  Options options_;
};

using Precision = Averaged<kPrecision>;
using Recall = Averaged<kRecall>;
using F1 = Averaged<kF1>;

}  // namespace thtrain
