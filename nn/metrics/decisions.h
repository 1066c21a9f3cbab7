// What scores decide, and what is right: shared by the metrics of classes and of labels.
#pragma once

#include "nn/metric.h"

namespace thtrain {

/// The predicted classes, int64 [n], of scores as Metric has them.
Expr predicted_classes(const Scores& scores);
/// For values: which labels are predicted, and which are there: bools [n, ...].
struct Labels {
  Expr predicted, actual;
};
Labels decided_labels(const Scores& scores, const Expr& targets);

/// Of a chunk: how many decisions are "wrong", and how many there are, "decisions": one for each example, or one for
/// each label.
std::vector<MetricPart> decision_parts(const MetricInput& input, TargetForm form);

/// Metrics of classes need scores [n], [n, 1] or [n, classes].
std::optional<Message> misfit_of_classes(const Scores& scores, TargetForm form);

/// The axes of x after the first.
std::vector<int64_t> axes_of_example(const Expr& x);

}  // namespace thtrain
