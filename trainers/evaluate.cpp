#include "trainers/evaluate.h"

#include <cmath>

#include "nn/metrics/confusion_matrix.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/demands.h"
#include "trainers/evaluator.h"
#include "trainers/measures.h"
#include "trainers/outputs.h"
#include "trainers/program.h"

namespace thtrain {

const char* name_of(Part part) {
  switch (part) {
    case Part::kTrain:
      return "train";
    case Part::kValid:
      return "valid";
    case Part::kTest:
      return "test";
  }
  return "";
}

Evaluation evaluate(const Experiment& given, const Dataset& data, Part part, const std::string& weights,
                    size_t confusion_of, const std::function<bool()>& stops) {
  const Experiment experiment = checked_experiment(given);
  const Split& split = part == Part::kTrain ? data.train : part == Part::kValid ? data.valid : data.test;
  int64_t batch = experiment.trainer.batch_size;
  int64_t count = experiment.trainer.full_batches_only ? split.size() / batch * batch : split.size();
  if (count == 0)
    throw UserError(
        Message{.what = str("there are no ", name_of(part), " examples to evaluate on"),
                .expected = experiment.trainer.full_batches_only ? "enough for a minibatch" : "at least one",
                .got = str(split.size(), " examples, minibatches of ", batch)});
  FloatXScope floatx(experiment.compiler.floatX);
  std::vector<TrainedOutput> outputs = outputs_of(experiment);
  check_targets(outputs, data, split);
  std::map<std::string, Tensor> arrays = read_weights(weights);
  std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  check_standardization(kept ? *kept : Standardization(), split, weights);
  Split standardized = split;
  if (kept) standardized.set_standardization(kept);
  const ModelInput input = model_input(experiment, standardized.step_shape(), split.is_sequence());
  Model model = build_model(experiment, input, data.classes());
  std::vector<std::string> unused;
  model.load(arrays, weights, {}, &unused);
  set_standards(outputs, kept ? kept.get() : data.standardization.get());
  set_step_targets(outputs, split);
  check_outputs(outputs, model, data);
  check_machines(experiment, model, data);
  standardized = demanding(experiment, data, standardized);
  if (!data.streamed) check_demands(standardized, floatX());
  Examples examples(standardized, input.shape, floatX(), data.streamed);
  const WeightedObjectives objectives({outputs.begin(), outputs.end()});
  const bool classifies = outputs[0].classifies(data);
  std::vector<OutputMetric> metrics = metrics_of(experiment.trainer, objectives, classifies);
  check_metrics(metrics, outputs, data);
  const size_t own = metrics.size();
  metrics.push_back(whole_loss(objectives));
  const bool has_confusion = confusion_of < outputs.size() && outputs[confusion_of].classifies(data);
  if (has_confusion) metrics.push_back({std::make_shared<ConfusionMatrix>(), confusion_of});
  Evaluator evaluator(model, outputs, metrics, function_options(experiment.compiler, "evaluate"));
  std::vector<MetricValue> values = evaluator.measure(examples, count, batch, stops);
  Evaluation out{.examples = count, .error = *values[0].number, .loss = *values[own].number};
  out.unused_arrays = std::move(unused);
  out.metric = names_of(metrics).front();
  out.has_errors = classifies && out.metric.name == "error" && !split.has_weights();
  for (int64_t i = 0; i < count && split.has_step_targets(); ++i) out.steps += split.length(i);
  const int64_t counted = out.steps > 0 ? out.steps : count;
  if (out.has_errors) out.errors = std::llround(out.error / 100 * static_cast<double>(counted));
  for (size_t i = 1; i < own; ++i)
    out.others.push_back({metrics[i].metric->name(), metrics[i].metric->text(values[i]), values[i].number});
  if (has_confusion) out.confusion = *values.back().matrix;
  return out;
}

}  // namespace thtrain
