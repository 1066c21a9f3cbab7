#include "nn/metrics/decisions.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr predicted_classes(const Scores& scores) {
  if (is_single(scores.value)) return cast(gt(as_single(scores.value), scores.threshold), DType::kInt64);
  return argmax(scores.value, 1);
}

Labels decided_labels(const Scores& scores, const Expr& targets) {
  return {.predicted = gt(scores.value, scores.threshold), .actual = gt(values_for(scores.value, targets), 0.5)};
}

std::vector<int64_t> axes_of_example(const Expr& x) {
  std::vector<int64_t> out;
  for (size_t axis = 1; axis < x.rank(); ++axis) out.push_back(static_cast<int64_t>(axis));
  return out;
}

std::vector<MetricPart> decision_parts(const MetricInput& input, TargetForm form) {
  Expr wrong;
  if (form == TargetForm::kClasses) {
    wrong = neq(predicted_classes(input.scores), input.targets.value);
  } else {
    Labels labels = decided_labels(input.scores, input.targets.value);
    wrong = neq(labels.predicted, labels.actual);
  }
  const Expr& weights = input.targets.weights;
  if (!weights.has_value())
    return {{"wrong", sum(wrong), MetricPart::How::kSum}, {"decisions", size(wrong), MetricPart::How::kSum}};
  Expr decisions = ones_like(wrong, DType::kInt64);
  if (wrong.rank() > 1) {
    wrong = sum(wrong, axes_of_example(wrong));
    decisions = sum(decisions, axes_of_example(decisions));
  }
  return {{"wrong", weighted_rows(wrong, weights)}, {"decisions", weighted_rows(decisions, weights)}};
}

std::optional<Message> misfit_of_classes(const Scores& scores, TargetForm form) {
  if (form != TargetForm::kClasses || scores.value.rank() <= 2) return {};
  return Message{.what = "", .expected = "a row of scores for each example", .got = type_text(scores.value)};
}

}  // namespace thtrain
