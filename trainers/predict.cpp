#include "trainers/predict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "compiler/base/nearest_name.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "datasets/dataset.h"
#include "nn/metrics/decisions.h"
#include "nn/model_pass.h"
#include "nn/sequences.h"
#include "nn/sparse_examples.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/outputs.h"
#include "trainers/program.h"

namespace thtrain {

// Columns of the W of the classifier that has as many as the data has classes; 0 where each says how many it has.
static int64_t classes_in(const std::map<std::string, Tensor>& weights, const Experiment& experiment,
                          const std::string& source) {
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const LayerOptions::Maker& kind = layer.kind_of().maker;
    if (!kind.is_classifier || kind.outputs(*layer)) continue;
    auto found = weights.find(layer->name + "/W");
    if (found == weights.end()) return 0;
    if (found->second.rank() == 2) return found->second.dim(1);
    throw UserError(Message{.what = str(source, ": ", found->first, " does not fit the model"),
                            .expected = "an array of two axes, inputs and classes",
                            .got = found->second.type_text()});
  }
  return 0;
}

namespace {

/// Examples to predict, as the model takes them.
struct ExampleRows {
  Shape shape;  // [n, ...]
  bool has_lengths = false;
  bool is_sparse = false;
  std::function<Batch(int64_t begin, int64_t count)> read;
  std::function<std::string(int64_t example)> location;  // for messages
  std::string origin, type;                              // the same: of all of them
};

}  // namespace

// The first weights take as many numbers as they have rows. An example of another size is the examples' fault.
static void check_example_size(const Model& model, const std::map<std::string, Tensor>& arrays, const ExampleRows& rows,
                               const std::string& weights, bool is_sequence) {
  if (model.params().empty()) return;
  Param first = model.params().front();
  Shape wanted = first.variable.type().known_shape();
  auto found = arrays.find(first.name);
  if (found == arrays.end() || found->second.rank() != 2 || wanted.size() != 2 || found->second.dim(1) != wanted[1])
    return;
  int64_t takes = found->second.dim(0);
  if (takes == wanted[0]) return;
  throw UserError(Message{
      .what = str(rows.origin, ": the examples have another size than the model takes"),
      .expected = str(takes, " numbers for each ", is_sequence ? "step" : "example", ", as ", first.name, ' ',
                      found->second.type_text(), " in ", weights, " has rows"),
      .got = str(rows.type, ": ", wanted[0], " for each", is_sequence ? " step" : ""),
      .hint = rows.shape[0] == takes && !is_sequence ? str("one example alone is an array [1, ", takes, ']') : ""});
}

static void check_finite(const std::map<std::string, Tensor>& arrays, const std::string& weights) {
  for (const auto& [name, array] : arrays)
    if (first_non_finite(array))
      throw UserError(Message{.what = str(weights, ": the weights are not finite"),
                              .expected = "finite numbers",
                              .got = str(name, " with ", array.as_double(*first_non_finite(array)))});
}

static void check_finite(const Prediction& of, const Tensor& found, int64_t begin, const Batch& batch,
                         const ExampleRows& rows, bool of_layer) {
  std::optional<int64_t> bad = first_non_finite(found);
  if (!bad) return;
  int64_t row = *bad / (found.size() / found.dim(0));
  const Batch::Sparse& kept = batch.sparse;
  const Tensor example =
      rows.is_sparse ? kept.values.rows(kept.indptr.as_int(row), kept.indptr.as_int(row + 1) - kept.indptr.as_int(row))
                     : batch.x.rows(row, 1);
  double largest = 0;
  for (int64_t i = 0; i < example.size(); ++i) largest = std::max(largest, std::abs(example.as_double(i)));
  const std::string what = of_layer ? str("the numbers of the layer ", of.output) : "the probabilities";
  throw UserError(Message{.what = str(rows.location(begin + row), ": ", what, " are not finite"),
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

// What is computed of one output, or of a layer.
struct PredictedOutput {
  std::string layer;
  Expr scores, classes = {};  // classes: empty where it gives values
  bool is_sequence = false;
  std::optional<double> label_threshold = {};  // of several labels
  Standard standard = {};                      // of values
};

// Of rows for each step: [examples, steps, ...].
Expr of_examples(const Expr& rows, const ModelOutput& output, const Dim& examples) {
  return output.is_sequence ? time_major(steps_of_rows(rows, output.steps, examples)) : rows;
}

PredictedOutput predicted(const TrainedOutput& output, ModelPass& pass, const Dim& examples, Targets targets) {
  const ModelOutput given = pass.model_output(output.layer);
  const Scores scores = output.objective->predictions(given);
  const bool of_targets = output.compare_with == CompareWith::kTargets;
  PredictedOutput out{output.layer, of_examples(scores.value, given, examples)};
  out.is_sequence = given.is_sequence;
  out.standard = output.standard;
  if (of_targets && gives_classes(*output.objective, given))
    out.classes = of_examples(predicted_classes(scores), given, examples);
  else if (of_targets && targets == Targets::kLabels && !output.columns)
    out.label_threshold = scores.threshold;
  return out;
}

std::vector<PredictedOutput> predicted(const Experiment& experiment, const std::string& layer, ModelPass& pass,
                                       const Dim& examples, const Standardization* standardization) {
  if (!layer.empty()) {
    const ModelOutput given = pass.model_output(layer);
    PredictedOutput out{layer, of_examples(given.value, given, examples)};
    out.is_sequence = given.is_sequence;
    return {out};
  }
  std::vector<TrainedOutput> outputs = outputs_of(experiment);
  set_standards(outputs, standardization);
  std::vector<PredictedOutput> out;
  for (const TrainedOutput& output : outputs) out.push_back(predicted(output, pass, examples, experiment.data->target));
  return out;
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

Prediction empty_prediction(const PredictedOutput& of, int64_t count) {
  Shape shape = {count};
  for (size_t i = 1; i < of.scores.rank(); ++i) shape.push_back(of.scores.dims()[i].value());
  const bool classifies = of.classes.has_value();
  Shape classes = {classifies ? count : 0};
  if (classifies && of.classes.rank() == 2) classes.push_back(of.classes.dims()[1].value());
  return {classifies, Tensor::empty(DType::kInt64, classes), Tensor::empty(floatX(), shape), of.layer, of.is_sequence};
}

Tensor labels_of(const Tensor& scores, double threshold) {
  Tensor out = Tensor::empty(DType::kUInt8, scores.shape());
  for (int64_t i = 0; i < out.size(); ++i) out.data<uint8_t>()[i] = scores.as_double(i) > threshold;
  return out;
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

static Predictions predict_rows(const Experiment& experiment, const ExampleRows& rows, const std::string& weights,
                                const std::string& layer) {
  FloatXScope floatx(experiment.compiler.floatX);
  std::map<std::string, Tensor> arrays = read_weights(weights);
  std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  const ModelInput input = input_of_rows(experiment, rows.shape);
  Model model = build_model(experiment, input, classes_in(arrays, experiment, weights));
  check_example_size(model, arrays, rows, weights, input.is_sequence);
  check_finite(arrays, weights);
  Predictions out;
  model.load(arrays, weights, {}, &out.unused_arrays);

  Shape one = input.shape;  // example
  if (input.is_sequence) one.insert(one.begin(), rows.shape[1]);
  Dims dims = {"n"};
  dims.insert(dims.end(), one.begin(), one.end());
  std::optional<SparseExamples> sparse;
  std::vector<In> inputs;
  const Dim ends = Dim::named("ends"), examples = rows.is_sparse ? ends - Dim(1) : Dim("n");
  if (rows.is_sparse) sparse.emplace(examples, one[0], floatX());
  const Expr x = sparse ? sparse->x : tensor("x", dims, floatX());
  for (const Expr& part : sparse ? sparse->inputs() : std::vector{x}) inputs.emplace_back(part);
  Expr steps;
  if (rows.has_lengths) inputs.emplace_back(steps = tensor("lengths", {"n"}, DType::kInt64));
  ModelPass pass = sparse ? model.pass(*sparse, Phase::kEvaluation) : model.pass({x}, Phase::kEvaluation, steps);
  const std::vector<PredictedOutput> wanted = predicted(experiment, layer, pass, examples, kept.get());
  const int64_t count = rows.shape[0], chunk = 1024;
  std::vector<Out> values;
  for (const PredictedOutput& of : wanted) {
    values.emplace_back(of.scores, true);
    if (of.classes.has_value()) values.emplace_back(of.classes, true);
    out.outputs.push_back(empty_prediction(of, count));
  }
  FunctionOptions options = function_options(experiment.compiler, "predict");
  options.unused_inputs = UnusedInputs::kAllowed;  // lengths, of layers that look at no other step
  Function f = function(inputs, values, {}, options);
  Tensor lengths = Tensor::empty(DType::kInt64, {rows.has_lengths ? count : 0});
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t length = std::min(chunk, count - begin);
    const Batch batch = rows.read(begin, length);
    Shape shape = {length};
    shape.insert(shape.end(), one.begin(), one.end());
    const Batch::Sparse& kept = batch.sparse;
    std::vector<Tensor> arguments;
    if (sparse)
      arguments = {kept.values, kept.places, kept.indptr, kept.columns};
    else
      arguments = {batch.x.cast(floatX()).contiguous().reshape(shape)};
    if (rows.has_lengths) arguments.push_back(batch.lengths), lengths.rows(begin, length).assign(batch.lengths);
    std::vector<Tensor> results = f(arguments);
    for (size_t i = 0; Prediction & of : out.outputs) {
      check_finite(of, results[i], begin, batch, rows, !layer.empty());
      of.probabilities.rows(begin, length).assign(results[i++]);
      if (of.has_classes) of.classes.rows(begin, length).assign(results[i++]);
    }
  }
  for (size_t k = 0; k < wanted.size(); ++k) {
    Prediction& of = out.outputs[k];
    if (!of.has_classes) wanted[k].standard.undo(of.probabilities);
    if (rows.has_lengths && of.by_step) clear_behind_ends(of, lengths);
    if (wanted[k].label_threshold) of.labels = labels_of(of.probabilities, *wanted[k].label_threshold);
  }
  return out;
}

Predictions predict_all(const Experiment& given, const Split& examples, const std::string& weights,
                        const PredictOptions& options) {
  const Experiment experiment = checked_experiment(given);
  Split split = examples;
  std::map<std::string, Tensor> arrays = read_weights(weights);
  const std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  check_standardization(kept ? *kept : Standardization(), split, weights);
  if (kept) split.set_standardization(kept);
  const DataArray& array = split.x_array();
  ExampleRows rows{.shape = split.input_shape(),
                   .has_lengths = split.has_lengths(),
                   .is_sparse = split.is_sparse(),
                   .read = {},
                   .location = {},
                   .origin = array.origin,
                   .type = options.type.empty() ? array.raw.type_text() : options.type};
  rows.shape.insert(rows.shape.begin(), split.size());
  rows.read = [&](int64_t begin, int64_t count) {
    if (split.is_sparse()) {
      std::vector<int64_t> numbers(static_cast<size_t>(count));
      std::iota(numbers.begin(), numbers.end(), begin);
      Batch out = split.read_sparse(numbers, experiment.compiler.floatX);
      check_batch(split, out, numbers);
      return out;
    }
    Batch out = split.read(begin, count, experiment.compiler.floatX);
    if (array.source) check_batch(split, out, begin);
    return out;
  };
  rows.location = [&](int64_t example) { return row_location(array, split.file_row(example)); };
  return predict_rows(experiment, rows, weights, options.layer);
}

std::vector<Prediction> predict_outputs(const Experiment& given, const Tensor& x, const std::string& weights,
                                        const DataArray& origin, const Tensor& lengths) {
  const Experiment experiment = checked_experiment(given);
  if (x.rank() == 0 || is_complex(x.dtype()))
    throw UserError(Message{.what = "these are no examples to predict",
                            .expected = "an array of real numbers, one example for each row",
                            .got = x.type_text()});
  check_sequence_lengths(lengths, x, experiment.data->has_sequences());
  const bool has_lengths = lengths.rank() > 0;
  const ExampleRows rows{
      .shape = x.shape(),
      .has_lengths = has_lengths,
      .is_sparse = false,
      .read =
          [&](int64_t begin, int64_t count) {
            return Batch{x.rows(begin, count), {}, {}, has_lengths ? lengths.rows(begin, count) : Tensor()};
          },
      .location = [&](int64_t example) { return row_location(origin, example); },
      .origin = origin.origin,
      .type = origin.raw.rank() > 0 ? origin.raw.type_text() : x.type_text()};
  return predict_rows(experiment, rows, weights, "").outputs;
}

Prediction predict(const Experiment& experiment, const Tensor& x, const std::string& weights, const DataArray& origin) {
  return predict_outputs(experiment, x, weights, origin).front();
}

void require_layer(const Experiment& experiment, const std::string& name, const std::string& command) {
  std::vector<std::string> names;
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) names.push_back(layer->name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string near = nearest_name(name, names);
  throw UserError(Message{.what = str("thtrain ", command, ": there is no layer ", name),
                          .expected = join(names, ", "),
                          .hint = near.empty() ? "" : str("did you mean ", near, '?')});
}

}  // namespace thtrain
