#include "nn/metric.h"

#include <algorithm>
#include <cstdio>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

std::optional<Message> Metric::misfit(const Scores&, TargetForm) const {
  return {};
}

bool Metric::compares_decisions() const {
  const std::vector<TargetForm> forms = target_forms();
  return !reads_losses() && std::find(forms.begin(), forms.end(), TargetForm::kClasses) != forms.end();
}

std::vector<MetricPart> Metric::parts(const MetricInput& input) const {
  const std::string who = str("metric \"", name_, '"');
  const ModelOutput scores{
      .value = input.scores.value, .is_sequence = input.is_sequence, .steps = input.steps, .batch = input.batch};
  TargetForm form = form_of(who, target_forms(), scores, input.targets, position_);
  if (auto message = misfit(input.scores, form)) {
    message->what = who + " cannot read the output of the model";
    if (!message->config) message->config = position_;
    throw UserError(std::move(*message));
  }
  Scope scope(name_);
  return parts_of(input, form);
}

static std::string printed(const char* format, double number) {
  char text[400];  // holds every double in fixed notation
  int length = std::snprintf(text, sizeof text, format, number);
  return {text, static_cast<size_t>(length)};
}

static std::string matrix_text(const Tensor& matrix) {
  std::vector<std::string> numbers;
  size_t width = 0;
  for (int64_t i = 0; i < matrix.size(); ++i) {
    numbers.push_back(printed("%.6g", matrix.as_double(i)));
    width = std::max(width, numbers.back().size());
  }
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool is_last = (i + 1) % static_cast<size_t>(matrix.dim(1)) == 0;
    out += std::string(width - numbers[i].size(), ' ') + numbers[i] + (is_last ? "\n" : " ");
  }
  if (!out.empty()) out.pop_back();
  return out;
}

std::string Metric::text(const MetricValue& value) const {
  if (value.matrix) return matrix_text(*value.matrix);
  TH_CHECK(value.number.has_value(), name_, " without a number");
  return unit_.empty() ? printed("%.6g", *value.number) : printed("%.2f ", *value.number) + unit_;
}

Expr weighted_rows(const Expr& rows, const Expr& weights) {
  Expr out = cast(rows, DType::kFloat64);
  if (!weights.has_value()) return out;
  Expr w = cast(weights, DType::kFloat64);
  for (size_t axis = 1; axis < out.rank(); ++axis) w = expand_dims(w, {static_cast<int64_t>(axis)});
  return w * out;
}

MetricPart weight_part(const Expr& examples, const Expr& weights) {
  if (!weights.has_value()) return {"weight", length(examples, 0), MetricPart::How::kSum};
  return {"weight", cast(weights, DType::kFloat64), MetricPart::How::kAddRows};
}

#define TH_METRIC(name) Kind<MetricOptions> name##_metric();
#include "nn/metric_list.inc"
#undef TH_METRIC

const std::vector<Kind<MetricOptions>>& MetricOptions::kinds() {
  static const std::vector<Kind<MetricOptions>> kinds = {
#define TH_METRIC(name) name##_metric(),
#include "nn/metric_list.inc"
#undef TH_METRIC
  };
  return kinds;
}

}  // namespace thtrain
