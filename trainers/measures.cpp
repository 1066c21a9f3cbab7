#include "trainers/measures.h"

#include <algorithm>

#include "compiler/runtime/shared.h"
#include "nn/metrics/error.h"
#include "nn/metrics/loss.h"
#include "trainers/examples.h"

namespace thtrain {

Expr class_weights_of(const LossConfig& config) {
  if (config.class_weights.empty()) return {};
  const auto count = static_cast<int64_t>(config.class_weights.size());
  return Shared(Tensor::of(config.class_weights, {count}).cast(floatX()), "class_weights", true).expr();
}

static bool takes(const Objective& objective, TargetForm form) {
  const std::vector<TargetForm> forms = objective.target_forms();
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

void check_targets(const Objective& objective, const Split& split) {
  if (objective.target_forms() == std::vector{TargetForm::kClasses}) require_classes(split);
}

bool has_classes(const Objective& objective, const Dataset& data) {
  return data.train.targets() == Targets::kClasses && takes(objective, TargetForm::kClasses);
}

std::vector<std::shared_ptr<const Metric>> metrics_of(const TrainerConfig& config, bool has_classes) {
  std::vector<std::shared_ptr<const Metric>> out;
  for (const OneOf<MetricOptions>& options : config.metrics) out.push_back(options->make());
  if (out.empty() && has_classes) out.push_back(std::make_shared<ErrorRate>());
  if (config.metrics.empty() && (!has_classes || config.monitor == "loss")) out.push_back(std::make_shared<Loss>());
  auto text = [](const auto& metric) { return metric->name(); };
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out[i]->name() == out[j]->name())
        throw UserError(Message{.what = str("two metrics are called ", out[i]->name()),
                                .expected = "each metric once",
                                .config = config.at("metrics")});
  auto monitored = std::find_if(out.begin(), out.end(), [&](const auto& metric) {
    return config.monitor.empty() ? metric->better() != Metric::Better::kNeither : metric->name() == config.monitor;
  });
  if (monitored == out.end())
    throw UserError(Message{.what = config.monitor.empty() ? "none of trainer.metrics is a number to go by"
                                                           : "trainer.monitor names none of the metrics",
                            .expected = config.monitor.empty() ? "one such as \"error\" or \"loss\""
                                                               : str("one of ", join(out, ", ", text)),
                            .got = config.monitor.empty() ? join(out, ", ", text) : config.monitor,
                            .config = config.at(config.monitor.empty() ? "metrics" : "monitor")});
  if ((*monitored)->better() == Metric::Better::kNeither)
    throw UserError(Message{.what = "trainer.monitor names a metric that is no number",
                            .expected = "one of which smaller or larger values are better",
                            .got = config.monitor,
                            .config = config.at("monitor")});
  std::rotate(out.begin(), monitored, monitored + 1);
  return out;
}

MetricNames names_of(const std::vector<std::shared_ptr<const Metric>>& metrics) {
  MetricNames out;
  for (const auto& metric : metrics)
    out.push_back({metric->name(), metric->unit(), metric->better() == Metric::Better::kLarger});
  return out;
}

std::vector<std::shared_ptr<const Metric>> with_loss(std::vector<std::shared_ptr<const Metric>> metrics) {
  std::erase_if(metrics, [](const auto& metric) { return metric->better() == Metric::Better::kNeither; });
  metrics.push_back(std::make_shared<Loss>());
  return metrics;
}

}  // namespace thtrain
