#include "nn/metrics/class_counts.h"

#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/metrics/decisions.h"

namespace thtrain {

MetricPart class_table(const MetricInput& input) {
  const int64_t classes = classes_of(input.scores.value);
  const Expr& labels = input.targets.value;
  Expr predicted = predicted_classes(input.scores);
  // A label out of range is an index out of range, as the predicted class is in range.
  Expr index = cast(cast(labels, DType::kInt64) * classes + predicted, DType::kFloat64);
  Expr count = weighted_rows(ones_like(index), input.targets.weights);
  return {"table", stack({index, count}, 1), MetricPart::How::kAddAt, {classes, classes}};
}

std::vector<MetricPart> class_count_parts(const MetricInput& input, TargetForm form) {
  if (form == TargetForm::kClasses) return {class_table(input)};
  Labels labels = decided_labels(input.scores, input.targets.value);
  auto part = [&](const char* name, const Expr& is) {
    Expr rows = weighted_rows(is, input.targets.weights);
    return MetricPart{name, rows.rank() == 1 ? expand_dims(rows, {1}) : rows};
  };
  return {part("both", logical_and(labels.predicted, labels.actual)), part("predicted", labels.predicted),
          part("actual", labels.actual)};
}

static std::vector<double> numbers_of(const Tensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.size()};
}

ClassCounts class_counts(const MetricTotals& totals) {
  if (!totals.has("table"))
    return {numbers_of(totals.total("both")), numbers_of(totals.total("predicted")),
            numbers_of(totals.total("actual"))};
  const Tensor table = totals.total("table");
  const size_t classes = static_cast<size_t>(table.dim(0));
  ClassCounts out{std::vector<double>(classes), std::vector<double>(classes), std::vector<double>(classes)};
  for (size_t actual = 0; actual < classes; ++actual)
    for (size_t predicted = 0; predicted < classes; ++predicted) {
      const double count = table.data<double>()[actual * classes + predicted];
      out.actual[actual] += count;
      out.predicted[predicted] += count;
      if (actual == predicted) out.both[actual] = count;
    }
  return out;
}

std::optional<Message> misfit_of_table(const Scores& scores) {
  if (scores.value.rank() <= 2 && classes_of(scores.value) >= 0) return {};
  return Message{
      .what = "", .expected = "a row of scores for each example, of a known length", .got = type_text(scores.value)};
}

std::optional<Message> misfit_of_average(const AverageOptions& options, const Scores& scores, TargetForm form) {
  if (auto message = misfit_of_table(scores)) return message;
  const bool of_labels = form == TargetForm::kValues;
  const bool is_binary = of_labels ? is_single(scores.value) : classes_of(scores.value) == 2;
  if (options.average != Average::kBinary || is_binary) return {};
  return Message{.what = "",
                 .expected = of_labels ? "the score of one label" : "scores of two classes",
                 .got = type_text(scores.value),
                 .config = options.has("average") ? options.at("average") : ConfigPosition{},
                 .hint = str(options.name_of("average"), " = \"macro\" is for any number of them")};
}

MetricValue averaged(const ClassCounts& counts, Average average, double (*ratio)(double, double, double)) {
  MetricValue out;
  for (size_t i = 0; i < counts.both.size(); ++i)
    out.by_class.push_back(ratio(counts.both[i], counts.predicted[i], counts.actual[i]));
  auto total = [](const std::vector<double>& of) { return std::accumulate(of.begin(), of.end(), 0.0); };
  switch (average) {
    case Average::kMacro:
      out.number = total(out.by_class) / static_cast<double>(out.by_class.size());
      break;
    case Average::kMicro:
      out.number = ratio(total(counts.both), total(counts.predicted), total(counts.actual));
      break;
    case Average::kBinary:
      out.number = out.by_class.back();
      break;
  }
  return out;
}

void AverageOptions::describe_average(Fields<AverageOptions> f) {
  const auto keys = f.group("averages");
  f.choice("average", &AverageOptions::average,
           {{"macro", Average::kMacro}, {"micro", Average::kMicro}, {"binary", Average::kBinary}})
      .help("`macro`: the mean over the classes. `micro`: of all classes together. `binary`: of class 1 of two.");
}

}  // namespace thtrain
