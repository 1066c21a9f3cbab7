#include "nn/metrics/top_k_error.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void TopKError::Options::describe(Fields<Options>& f) {
  f.about("The share of examples whose class is not among the k with the largest scores, in per cent.");
  f.field("k", &Options::k).range(at_least(1)).help("How many classes count as right.");
}

std::unique_ptr<Metric> TopKError::Options::make() const {
  return std::make_unique<TopKError>(*this);
}

std::optional<Message> TopKError::misfit(const Scores& scores, TargetForm) const {
  const Dims& dims = scores.value.dims();
  if (dims.size() == 2 && (!dims[1].is_known() || options_.k < dims[1].value())) return {};
  return Message{
      .what = "",
      .expected = str("a row of more than ", options_.k, options_.k == 1 ? " score" : " scores", " for each example"),
      .got = type_text(scores.value),
      .config = options_.has("k") ? options_.at("k") : ConfigPosition{},
      .hint = options_.k == 1 ? "" : str("a smaller ", options_.name_of("k"))};
}

std::vector<MetricPart> TopKError::parts_of(const MetricInput& input, TargetForm) const {
  const Expr &z = input.scores.value, &labels = input.targets.value;
  Expr own = expand_dims(pick_rows(z, labels, Negative::kRefused), {1});
  Expr own_is_nan = isnan(own), is_nan = isnan(z);
  Expr larger = logical_or(gt(z, own), logical_and(is_nan, logical_not(own_is_nan)));
  Expr equal = logical_or(eq(z, own), logical_and(is_nan, own_is_nan));
  Expr earlier = lt(arange(length(z, 1)), expand_dims(labels, {1}));
  Expr before = sum(logical_or(larger, logical_and(equal, earlier)), 1);
  Expr wrong = ge(before, options_.k);
  const Expr& weights = input.targets.weights;
  if (!weights.has_value()) return {{"wrong", sum(wrong), MetricPart::How::kSum}, weight_part(labels, weights)};
  return {{"wrong", weighted_rows(wrong, weights)}, weight_part(labels, weights)};
}

MetricValue TopKError::value(const MetricTotals& totals) const {
  return {.number = 100 * totals.number("wrong") / totals.number("weight")};
}

Kind<MetricOptions> top_k_error_metric() {
  return kind<TopKError::Options, MetricOptions>();
}

}  // namespace thtrain
