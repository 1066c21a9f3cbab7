#include "nn/metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "nn/metrics/class_counts.h"

namespace thtrain {

void Auc::Options::describe(Fields<Options>& f) {
  f.about(
      "The area under the receiver operating characteristic, the mean over the classes or labels. Keeps all scores.");
}

std::unique_ptr<Metric> Auc::Options::make() const {
  return std::make_unique<Auc>(*this);
}

std::optional<Message> Auc::misfit(const Scores& scores, TargetForm) const {
  return misfit_of_table(scores);
}

static Expr as_rows(const Expr& x) {
  Expr out = cast(x, DType::kFloat64);
  return out.rank() == 1 ? expand_dims(out, {1}) : out;
}

std::vector<MetricPart> Auc::parts_of(const MetricInput& input, TargetForm form) const {
  constexpr auto kKeep = MetricPart::How::kKeepRows;
  Expr scores = as_rows(input.scores.value);
  const bool of_classes = form == TargetForm::kClasses;
  if (of_classes && scores.dims()[1].is(2)) scores = scores[{all(), Slice{.start = 1}}];
  std::vector<MetricPart> out = {{"scores", scores, kKeep}};
  if (of_classes)
    out.push_back({"classes", cast(input.targets.value, DType::kFloat64), kKeep});
  else
    out.push_back({"labels", as_rows(input.targets.value), kKeep});
  if (input.targets.weights.has_value())
    out.push_back({"weights", cast(input.targets.weights, DType::kFloat64), kKeep});
  return out;
}

namespace {

struct Scored {
  double score, weight;
  bool is_positive;
};

// The scores need no order; NaN where one is NaN. nullopt where all examples of a weight are of one kind.
std::optional<double> area(std::vector<Scored>& examples) {
  double positives = 0, negatives = 0, pairs = 0;
  bool has_nan = false;
  for (const Scored& e : examples) {
    (e.is_positive ? positives : negatives) += e.weight;
    has_nan = has_nan || std::isnan(e.score);
  }
  if (positives == 0 || negatives == 0) return {};
  if (has_nan) return std::numeric_limits<double>::quiet_NaN();
  std::stable_sort(examples.begin(), examples.end(),
                   [](const Scored& a, const Scored& b) { return a.score < b.score; });
  double below = 0;  // the negatives' weight below the score
  for (size_t i = 0; i < examples.size();) {
    double positive = 0, negative = 0;
    const double score = examples[i].score;
    for (; i < examples.size() && examples[i].score == score; ++i)
      (examples[i].is_positive ? positive : negative) += examples[i].weight;
    pairs += positive * (below + negative / 2);
    below += negative;
  }
  return pairs / (positives * negatives);
}

}  // namespace

MetricValue Auc::value(const MetricTotals& totals) const {
  const Tensor scores = totals.total("scores");
  const bool of_classes = totals.has("classes");
  const Tensor targets = totals.total(of_classes ? "classes" : "labels");
  const Tensor weights = totals.has("weights") ? totals.total("weights") : Tensor();
  const int64_t n = scores.dim(0), k = scores.dim(1);
  MetricValue out;
  double sum = 0;
  int64_t areas = 0;
  std::vector<Scored> examples(static_cast<size_t>(n));
  for (int64_t j = 0; j < k; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      const double target = targets.as_double(of_classes ? i : i * k + j);
      const bool is_positive = !of_classes ? target > 0.5 : target == static_cast<double>(k == 1 ? 1 : j);
      examples[static_cast<size_t>(i)] = {scores.as_double(i * k + j), totals.has("weights") ? weights.as_double(i) : 1,
                                          is_positive};
    }
    std::optional<double> one = area(examples);
    out.by_class.push_back(one.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (!one) continue;
    sum += *one;
    ++areas;
  }
  out.number = areas > 0 ? sum / static_cast<double>(areas) : std::numeric_limits<double>::quiet_NaN();
  return out;
}

Kind<MetricOptions> auc_metric() {
  return kind<Auc::Options, MetricOptions>();
}

}  // namespace thtrain
