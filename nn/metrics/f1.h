// The harmonic mean of precision and recall.
#pragma once

#include "nn/metrics/class_counts.h"

namespace thtrain {

/// 2 (predicted and there) / (predicted + there) for each class or label, and their average. 0 / 0 is 0: a class that
/// is neither predicted nor there has 0, and counts in the mean of `macro`. Scores and targets of classes or of labels.
/// scikit-learn's f1_score with labels=range(classes) and zero_division=0.
class F1 : public Metric {
 public:
  struct Options : AverageOptions {
    static constexpr std::string_view kName = "f1";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  F1() : F1(Options()) {}
  explicit F1(const Options& options)
      : Metric(std::string(Options::kName), Better::kLarger, "", options), options_(options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
