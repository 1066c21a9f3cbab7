#include "trainers/measures.h"

#include <algorithm>

#include "nn/metrics/error.h"
#include "nn/metrics/loss.h"

namespace thtrain {

OutputMetric whole_loss(const WeightedObjectives& outputs) {
  OutputMetric out{std::make_shared<Loss>()};
  if (!outputs.is_plain()) out.output.reset();
  return out;
}

std::vector<OutputMetric> metrics_of(const TrainerConfig& config, const WeightedObjectives& outputs, bool has_classes) {
  std::vector<OutputMetric> out;
  for (const OneOf<MetricOptions>& options : config.metrics)
    out.push_back(options.name() == Loss::Options::kName ? whole_loss(outputs) : OutputMetric{options->make()});
  if (out.empty() && has_classes) out.push_back({std::make_shared<ErrorRate>()});
  if (config.metrics.empty() && (!has_classes || config.monitor == "loss")) out.push_back(whole_loss(outputs));
  for (size_t k = 0; !outputs.is_plain() && k < outputs.outputs().size(); ++k)
    out.push_back({std::make_shared<Loss>(outputs.outputs()[k].layer), k});
  auto text = [](const OutputMetric& m) { return m.metric->name(); };
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (text(out[i]) == text(out[j]))
        throw UserError(Message{.what = str("two metrics are called ", text(out[i])),
                                .expected = "each metric once",
                                .config = config.at("metrics")});
  auto monitored = std::find_if(out.begin(), out.end(), [&](const OutputMetric& m) {
    return config.monitor.empty() ? m.metric->better() != Metric::Better::kNeither : text(m) == config.monitor;
  });
  if (monitored == out.end())
    throw UserError(Message{.what = config.monitor.empty() ? "none of trainer.metrics is a number to go by"
                                                           : "trainer.monitor names none of the metrics",
                            .expected = config.monitor.empty() ? "one such as \"error\" or \"loss\""
                                                               : str("one of ", join(out, ", ", text)),
                            .got = config.monitor.empty() ? join(out, ", ", text) : config.monitor,
                            .config = config.at(config.monitor.empty() ? "metrics" : "monitor")});
  if (monitored->metric->better() == Metric::Better::kNeither)
    throw UserError(Message{.what = "trainer.monitor names a metric that is no number",
                            .expected = "one of which smaller or larger values are better",
                            .got = config.monitor,
                            .config = config.at("monitor")});
  std::rotate(out.begin(), monitored, monitored + 1);
  return out;
}

void check_metrics(const std::vector<OutputMetric>& metrics, const std::vector<TrainedOutput>& outputs,
                   const Dataset& data) {
  for (const auto& [metric, output] : metrics) {
    if (!output || !metric->compares_decisions() || outputs[*output].decides(data)) continue;
    const TrainedOutput& of = outputs[*output];
    const bool of_inputs = of.compare_with == CompareWith::kInputs, of_layer = of.compare_with == CompareWith::kLayer;
    throw UserError(Message{
        .what = str("metric \"", metric->name(), "\" compares decisions, and the output ", of.layer, " learns values"),
        .expected = "a metric of values, such as \"mean_squared_error\" or \"r2\"",
        .got = str("objective \"", of.objective->name(), "\" on ",
                   of_inputs  ? "the examples themselves"
                   : of_layer ? str("what ", of.compare_layer, " gives")
                              : str("data.target = \"", name_of(data.targets()), '"')),
        .config = metric->position(),
        .hint = of_inputs || of_layer ? "" : "data.target = \"classes\" or \"labels\" where the targets are those"});
  }
}

MetricNames names_of(const std::vector<OutputMetric>& metrics) {
  MetricNames out;
  for (const auto& [metric, output] : metrics)
    out.push_back({metric->name(), metric->unit(), metric->better() == Metric::Better::kLarger});
  return out;
}

std::vector<OutputMetric> with_loss(std::vector<OutputMetric> metrics, const WeightedObjectives& outputs) {
  std::erase_if(metrics, [](const OutputMetric& m) { return m.metric->better() == Metric::Better::kNeither; });
  metrics.push_back(whole_loss(outputs));
  return metrics;
}

}  // namespace thtrain
