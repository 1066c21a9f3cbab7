#include "trainers/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "compiler/host/machine.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/tuning/refusals.h"
#include "nn/metrics/confusion_matrix.h"
#include "nn/metrics/decisions.h"
#include "nn/metrics/loss.h"
#include "nn/sequences.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/demands.h"
#include "trainers/evaluator.h"
#include "trainers/outputs.h"
#include "trainers/pictures.h"
#include "trainers/program.h"
#include "trainers/run.h"
#include "trainers/table_facts.h"

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

TrainSummary train(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                   const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  folder.lock();
  folder.require_new("train");
  if (!experiment.phases.empty())
    throw UserError(Message{.what = "train: the experiment has several phases", .hint = "train_phases() trains them"});
  keep_table_facts(folder, data);
  return with_noted_end(folder, [&] {
    TrainSummary summary = Run(experiment, data, folder, hooks, options).go();
    keep_table_facts(folder, data);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

TrainSummary resume(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                    const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  folder.lock();
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(experiment, folder, hooks, options);
  use_limits_of(folder.facts().target);
  return with_noted_end(folder, [&] {
    Run run(experiment, data, folder, hooks, options);
    if (checkpoint) run.restore(*checkpoint);
    TrainSummary summary = run.go();
    keep_table_facts(folder, data);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

void keep_table_facts(const RunFolder& folder, const Dataset& data) {
  std::error_code ignored;
  const bool is_table = !data.columns.empty() || !data.class_names.empty();
  if (is_table && !std::filesystem::exists(folder.table(), ignored))
    write_table_facts(folder.table(), table_facts(data));
}

static std::optional<Evaluation> evaluate_unless_stopped(const Experiment& experiment, const Dataset& data, Part part,
                                                         const RunFolder& folder, const TrainOptions& options) {
  try {
    auto stops = [&] { return options.stop && options.stop->load(std::memory_order_relaxed) != 0; };
    return evaluate(experiment, data, part, folder.best(), 0, stops);
  } catch (const MeasurementStopped&) {
    return {};
  }
}

void add_confusion(TrainSummary& summary, const Experiment& experiment, const Dataset& data, const RunFolder& folder,
                   const TrainOptions& options) {
  const TrainerConfig& trainer = experiment.trainer;
  if (summary.interrupted || std::none_of(trainer.metrics.begin(), trainer.metrics.end(),
                                          [](const auto& metric) { return metric.name() == "confusion_matrix"; }))
    return;
  for (const auto& [part, split] : {std::pair(Part::kTest, &data.test), std::pair(Part::kValid, &data.valid)})
    if (split->size() >= (trainer.full_batches_only ? trainer.batch_size : 1)) {
      const std::optional<Evaluation> found = evaluate_unless_stopped(experiment, data, part, folder, options);
      summary.interrupted = !found;
      if (!found) return;
      summary.confusion = found->confusion;
      summary.confusion_of_steps = found->steps > 0;
      summary.class_names = data.class_names;
      summary.confusion_part = part;
      return;
    }
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
  const ModelInput input = model_input(experiment, split.step_shape(), split.is_sequence());
  Model model = build_model(experiment, input, data.classes());
  std::map<std::string, Tensor> arrays = read_weights(weights);
  std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  model.load(arrays, weights);
  Split standardized = split;
  if (kept) {
    check_standardization(*kept, split, weights);
    standardized.set_standardization(kept);
  }
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

// Columns of the W of the softmax that has as many as the data has classes; 0 where each says how many it has.
static int64_t classes_in(const std::map<std::string, Tensor>& weights, const Experiment& experiment) {
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const auto* softmax = layer.get_if<Softmax::Options>();
    if (!softmax || softmax->units) continue;
    auto found = weights.find(softmax->name + "/W");
    return found != weights.end() && found->second.rank() == 2 ? found->second.dim(1) : 0;
  }
  return 0;
}

// The first weights take as many numbers as they have rows. An example of another size is the examples' fault.
static void check_example_size(const Model& model, const std::map<std::string, Tensor>& arrays, const Tensor& x,
                               const std::string& weights, const DataArray& origin, bool is_sequence) {
  if (model.params().empty()) return;
  Param first = model.params().front();
  Shape wanted = first.variable.type().known_shape();
  auto found = arrays.find(first.name);
  if (found == arrays.end() || found->second.rank() != 2 || wanted.size() != 2 || found->second.dim(1) != wanted[1])
    return;
  int64_t takes = found->second.dim(0);
  if (takes == wanted[0]) return;
  throw UserError(
      Message{.what = str(origin.origin, ": the examples have another size than the model takes"),
              .expected = str(takes, " numbers for each ", is_sequence ? "step" : "example", ", as ", first.name, ' ',
                              found->second.type_text(), " in ", weights, " has rows"),
              .got = str(origin.raw.rank() > 0 ? origin.raw.type_text() : x.type_text(), ": ", wanted[0], " for each",
                         is_sequence ? " step" : ""),
              .hint = x.dim(0) == takes && !is_sequence ? str("one example alone is an array [1, ", takes, ']') : ""});
}

static void check_finite(const std::map<std::string, Tensor>& arrays, const std::string& weights) {
  for (const auto& [name, array] : arrays)
    if (first_non_finite(array))
      throw UserError(Message{.what = str(weights, ": the weights are not finite"),
                              .expected = "finite numbers",
                              .got = str(name, " with ", array.as_double(*first_non_finite(array)))});
}

static void check_finite(const Tensor& probabilities, int64_t begin, const Tensor& x, const DataArray& origin) {
  std::optional<int64_t> bad = first_non_finite(probabilities);
  if (!bad) return;
  int64_t row = *bad / (probabilities.size() / probabilities.dim(0));
  Tensor example = x.rows(row, 1);
  double largest = 0;
  for (int64_t i = 0; i < example.size(); ++i) largest = std::max(largest, std::abs(example.as_double(i)));
  throw UserError(Message{.what = str(row_place(origin, begin + row), ": the probabilities are not finite"),
                          .expected = "numbers such as the model was trained on",
                          .got = str("numbers up to ", static_cast<float>(largest), " (scaled)"),
                          .hint = "predict multiplies them by data.scale, as training does"});
}

// A softmax does, or what is trained on class numbers alone; two classes are told apart by one number.
static bool gives_classes(const Objective& objective, const ModelOutput& output) {
  const std::vector<TargetForm> forms = objective.target_forms();
  const bool takes_classes = std::find(forms.begin(), forms.end(), TargetForm::kClasses) != forms.end();
  const bool takes_values = std::find(forms.begin(), forms.end(), TargetForm::kValues) != forms.end();
  return output.value.rank() <= 2 && takes_classes && (!takes_values || is_single(output.value));
}

namespace {

// What is computed of one output.
struct PredictedOutput {
  Expr scores, classes;  // classes: empty where it gives values
  bool is_sequence = false;
};

// Of rows for each step: [examples, steps, ...].
Expr of_examples(const Expr& rows, const ModelOutput& output, const Dim& examples) {
  return output.is_sequence ? time_major(steps_of_rows(rows, output.steps, examples)) : rows;
}

PredictedOutput predicted(const TrainedOutput& output, ModelPass& pass, const Dim& examples) {
  const ModelOutput given = pass.model_output(output.layer);
  Scores scores = output.objective->scores(given);
  // Of linear outputs that are trained as logits, the probabilities are their softmax.
  if (output.objective->name() == NegativeLogLikelihood::Options::kName && given.link == ModelOutput::Link::kNone)
    scores.value = softmax(given.value);
  const bool classifies = output.compare_with == CompareWith::kTargets && gives_classes(*output.objective, given);
  return {of_examples(scores.value, given, examples),
          classifies ? of_examples(predicted_classes(scores), given, examples) : Expr(), given.is_sequence};
}

// What stands behind the ends is no answer.
void clear_behind_ends(Prediction& of, const Tensor& lengths) {
  clear_behind_end(of.probabilities, lengths);
  if (!of.has_classes) return;
  const int64_t steps = of.classes.dim(1);
  for (int64_t i = 0; i < of.classes.dim(0); ++i) {
    int64_t* classes = of.classes.data<int64_t>() + i * steps;
    std::fill(classes + lengths.data<int64_t>()[i], classes + steps, -1);
  }
}

Prediction empty_prediction(const TrainedOutput& output, const PredictedOutput& of, int64_t count) {
  Shape shape = {count};
  for (size_t i = 1; i < of.scores.rank(); ++i) shape.push_back(of.scores.dims()[i].value());
  const bool classifies = of.classes.has_value();
  Shape classes = {classifies ? count : 0};
  if (classifies && of.classes.rank() == 2) classes.push_back(of.classes.dims()[1].value());
  return {classifies, Tensor::empty(DType::kInt64, classes), Tensor::empty(floatX(), shape), output.layer};
}

}  // namespace

// int64 [n], the steps of each sequence; of rank 0 where each has all.
static void check_sequence_lengths(const Tensor& lengths, const Tensor& x, bool is_sequence) {
  if (lengths.rank() == 0) return;
  bool fits = is_sequence && lengths.dtype() == DType::kInt64 && lengths.shape() == Shape{x.dim(0)};
  for (int64_t i = 0; fits && i < lengths.size(); ++i) fits = lengths.as_int(i) >= 1 && lengths.as_int(i) <= x.dim(1);
  if (!fits)
    throw UserError(Message{.what = "these are no lengths of the sequences to predict",
                            .expected = is_sequence ? str("int64[", x.dim(0), "], each from 1 to ", x.dim(1))
                                                    : "none: the examples are no sequences",
                            .got = lengths.type_text()});
}

std::vector<Prediction> predict_outputs(const Experiment& given, const Tensor& x, const std::string& weights,
                                        const DataArray& origin, const Tensor& lengths) {
  const Experiment experiment = checked_experiment(given);
  if (x.rank() == 0 || is_complex(x.dtype()))
    throw UserError(Message{.what = "these are no examples to predict",
                            .expected = "an array of real numbers, one example for each row",
                            .got = x.type_text()});
  FloatXScope floatx(experiment.compiler.floatX);
  std::map<std::string, Tensor> arrays = read_weights(weights);
  std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);  // `x` is as the model takes it
  const ModelInput input = input_of_rows(experiment, x.shape());
  Model model = build_model(experiment, input, classes_in(arrays, experiment));
  check_example_size(model, arrays, x, weights, origin, input.is_sequence);
  check_finite(arrays, weights);
  model.load(arrays, weights);

  Shape one = input.shape;  // example
  if (input.is_sequence) one.insert(one.begin(), x.dim(1));
  const bool has_lengths = lengths.rank() > 0;
  check_sequence_lengths(lengths, x, input.is_sequence);
  Dims dims = {"n"};
  dims.insert(dims.end(), one.begin(), one.end());
  const Expr rows = tensor("x", dims, floatX());
  std::vector<In> inputs = {rows};
  Expr steps;
  if (has_lengths) inputs.emplace_back(steps = tensor("lengths", {"n"}, DType::kInt64));
  ModelPass pass = model.pass({rows}, Phase::kEvaluation, steps);
  std::vector<TrainedOutput> outputs = outputs_of(experiment);
  set_standards(outputs, kept.get());
  const int64_t count = x.dim(0), chunk = 1024;
  std::vector<Prediction> out;
  std::vector<Out> values;
  std::vector<bool> by_step;
  for (const TrainedOutput& output : outputs) {
    const PredictedOutput of = predicted(output, pass, "n");
    values.emplace_back(of.scores, true);
    if (of.classes.has_value()) values.emplace_back(of.classes, true);
    by_step.push_back(of.is_sequence);
    out.push_back(empty_prediction(output, of, count));
  }
  FunctionOptions options = function_options(experiment.compiler, "predict");
  options.allow_unused_inputs = true;  // lengths, of layers that look at no other step
  Function f = function(inputs, values, {}, options);
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t length = std::min(chunk, count - begin);
    Shape shape = {length};
    shape.insert(shape.end(), one.begin(), one.end());
    std::vector<Tensor> arguments = {x.rows(begin, length).cast(floatX()).contiguous().reshape(shape)};
    if (has_lengths) arguments.push_back(lengths.rows(begin, length));
    std::vector<Tensor> results = f(arguments);
    for (size_t i = 0; Prediction & one : out) {
      check_finite(results[i], begin, x.rows(begin, length), origin);
      one.probabilities.rows(begin, length).assign(results[i++]);
      if (one.has_classes) one.classes.rows(begin, length).assign(results[i++]);
    }
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!out[k].has_classes) outputs[k].standard.undo(out[k].probabilities);
    if (has_lengths && by_step[k]) clear_behind_ends(out[k], lengths);
  }
  return out;
}

Prediction predict(const Experiment& experiment, const Tensor& x, const std::string& weights, const DataArray& origin) {
  return predict_outputs(experiment, x, weights, origin).front();
}

CheckReport check_experiment(const Experiment& given, const Dataset& data, const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  TrainingProgram program(experiment, data, config_folder);
  const Pictures pictures(experiment, data, program.model());  // says which cannot be drawn
  RandomState random = program.model().random();
  program.begin_epoch(random);
  const double loss = program.try_step();
  return {program.summary(), loss};
}

std::vector<kernel::ChoiceKey> choices_of(const Experiment& given, const Dataset& data,
                                          const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  const RefusalScope refusals;
  TrainingProgram program(experiment, data, config_folder);
  std::vector<kernel::ChoiceKey> out;
  for (const kernel::Choice& choice : program.all_choices())
    if (std::find(out.begin(), out.end(), choice.key) == out.end()) out.push_back(choice.key);
  return out;
}

std::vector<kernel::ChoiceKey> choices_of_phases(const Experiment& experiment,
                                                 const std::function<const Dataset&(size_t phase)>& data,
                                                 const std::string& config_folder) {
  std::vector<kernel::ChoiceKey> out;
  for (size_t i = 0; i < phase_count(experiment); ++i)
    for (const kernel::ChoiceKey& key : choices_of(phase_of(experiment, i), data(i), config_folder))
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
  return out;
}

void check_candidate_lists(const Experiment& experiment, const std::function<const Dataset&(size_t phase)>& data,
                           const std::string& config_folder) {
  const CandidateLists lists = candidate_lists(experiment.compiler);
  if (lists.only.empty() && lists.include.empty() && lists.exclude.empty()) return;
  auto at = [&](const std::string& list, const std::string&) {
    return ListPlace{str("compiler.", list), experiment.compiler.at(list)};
  };
  check_lists(lists, choices_of_phases(experiment, data, config_folder), machine(), at);
}

Explanation explain_training(const Experiment& given, const Dataset& data, const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  return TrainingProgram(experiment, data, config_folder).explain();
}

Explanation explain_errors(const Experiment& given, const Dataset& data, const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  return TrainingProgram(experiment, data, config_folder).explain_errors();
}

}  // namespace thtrain
