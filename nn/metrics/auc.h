// The area under the receiver operating characteristic.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// The chance that an example of a class has a larger score for it than one of another class, equal scores counting as
/// half: (sum over the pairs of w_i w_j) / (sum w_i) (sum w_j), from the sorted scores, exactly. Two classes: the score
/// of class 1. More classes: each against the others, and their mean. Labels, values [n, k]: each label, and their
/// mean. A class or label that all or none of the examples have has no area (NaN) and is left out of the mean; a NaN
/// among its scores makes it NaN too, and the mean with it. Every score, target and weight is kept until the end: 8 (k
/// + 1) bytes for an example of classes, 16 k of labels, 8 more with weights. scikit-learn's roc_auc_score
/// (multi_class="ovr", average="macro"); J. A. Hanley, B. J. McNeil, Radiology 143, 1982.
class Auc : public Metric {
 public:
  struct Options : MetricOptions {
    static constexpr std::string_view kName = "auc";
    std::unique_ptr<Metric> make() const override;
    static void describe(Fields<Options>& f);
  };
  Auc() : Auc(Options()) {}
  explicit Auc(const Options& options) : Metric(std::string(Options::kName), Better::kLarger, "", options) {}

  MetricValue value(const MetricTotals& totals) const override;

 protected:
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  std::optional<Message> misfit(const Scores& scores, TargetForm form) const override;
  std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const override;
};

}  // namespace thtrain
