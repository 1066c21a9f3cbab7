#include "trainers/predict.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "nn/metrics/decisions.h"
#include "nn/model_pass.h"
#include "nn/sequences.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/outputs.h"
#include "trainers/program.h"

namespace thtrain {

// Columns of the W of the classifier that has as many as the data has classes; 0 where each says how many it has.
static int64_t classes_in(const std::map<std::string, Tensor>& weights, const Experiment& experiment) {
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const LayerOptions::Maker& kind = layer.kind_of().maker;
    if (!kind.is_classifier || kind.outputs(*layer)) continue;
    auto found = weights.find(layer->name + "/W");
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
  throw UserError(Message{.what = str(row_location(origin, begin + row), ": the probabilities are not finite"),
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
  const Scores scores = output.objective->predictions(given);
  const bool classifies = output.compare_with == CompareWith::kTargets && gives_classes(*output.objective, given);
  return {of_examples(scores.value, given, examples),
          classifies ? of_examples(predicted_classes(scores), given, examples) : Expr(), given.is_sequence};
}

// What follows the ends is no answer.
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

}  // namespace thtrain
