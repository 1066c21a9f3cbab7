#include "trainers/outputs.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/shared.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/sequences.h"
#include "trainers/examples.h"

namespace thtrain {

static bool takes(const Objective& objective, TargetForm form) {
  const std::vector<TargetForm> forms = objective.target_forms();
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

static bool takes_only(const Objective& objective, TargetForm form) {
  return objective.target_forms() == std::vector{form};
}

bool TrainedOutput::takes_class_column() const {
  return columns && takes_only(*objective, TargetForm::kClasses);
}

bool TrainedOutput::classifies(const Dataset& data) const {
  if (compare_with != CompareWith::kTargets) return false;
  return takes_class_column() || (data.train.targets() == Targets::kClasses && takes(*objective, TargetForm::kClasses));
}

// The binary cross-entropy of values gives the probability of a yes.
bool TrainedOutput::decides(const Dataset& data) const {
  if (takes(*objective, TargetForm::kClasses)) return true;
  return compare_with == CompareWith::kTargets && data.targets() != Targets::kValues;
}

// The same numbers in the lengths of the output.
static Expr shaped_as(const Expr& x, const ModelOutput& output) {
  const Dims &wanted = output.value.dims(), &given = x.dims();
  if (wanted.size() == given.size()) return x;
  Dims lengths = wanted;
  lengths[0] = given[0];
  return reshape(x, lengths);
}

// Each weight at every step of its sequence, and 0 behind its end.
static Expr step_weights(const ModelOutput& output, const Expr& weights) {
  if (!weights.has_value()) return output.mask;
  const Dim batch = weights.dims()[0];
  if (output.mask.has_value())
    return rows_of_steps(steps_of_rows(output.mask, output.steps, batch) * expand_dims(weights, {0}));
  return rows_of_steps(expand_dims(weights, {0}) * ones({Length(output.steps), Length(batch)}, weights.dtype()));
}

// Labels [batch, steps] that belong to the steps of sequences, -1 behind the end of each.
static Expr labels_within(const ModelOutput& output, const Expr& y) {
  if (!output.mask.has_value() || y.rank() != 2) return y;
  return where(gt(time_major(steps_of_rows(output.mask, output.steps, y.dims()[0])), 0), y, int64_t{-1});
}

// How the model gives what it gives.
std::string TrainedOutput::kind_hint(bool gives_steps) const {
  if (!gives_steps)
    return has_recurrent_layer
               ? "a recurrent layer with output = \"all\" gives its outputs of all steps"
               : "without a layer of type \"last_step\" or \"mean_steps\", which make one value of a sequence";
  std::string out = "a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence";
  if (has_recurrent_layer)
    out += "; so does a recurrent layer with output = \"last\"";
  else
    out += ";\nthe model has no recurrent layer, so that it sees each step by itself";
  return has_flatten_layer ? out + ";\na flatten layer makes a row of each step, not of the sequence" : out;
}

// The output's layer and its line are those of its value.
void TrainedOutput::check_kind(const ModelOutput& output) const {
  if (output.is_sequence == (has_step_targets || compare_with == CompareWith::kInputs)) return;
  const bool gives = output.is_sequence, may_be_steps = gives && !row_targets.empty();
  std::string expected = gives ? "a layer that makes one value of a sequence" : "a layer that gives sequences";
  if (may_be_steps) expected += str("; or targets of the steps, one number of each: ", shape_text(as_step_targets));
  throw UserError(Message{.what = str("the output ", layer,
                                      gives ? " gives something for each step, and the data has one target "
                                              "for each sequence"
                                            : " gives something for each sequence, and the data has a target "
                                              "for each step"),
                          .expected = expected,
                          .got = type_text(output.value, output) + (may_be_steps ? str(" for ", row_targets) : ""),
                          .config = output.value.node().origin.config(),
                          .hint = kind_hint(gives)});
}

Expr TrainedOutput::compared(ModelPass& pass, const Expr& x) const {
  return compare_with == CompareWith::kLayer ? stop_gradient(pass.output(compare_layer)) : x;
}

TargetInput TrainedOutput::targets(const ModelOutput& output, const Expr& x, const Expr& y, const Expr& weights) const {
  if (takes_only(*objective, TargetForm::kNone)) return {.weights = output.mask};
  if (takes_only(*objective, TargetForm::kLabelSequences))
    return {
        .value = has_step_targets ? labels_within(output, y) : y, .weights = weights, .class_weights = class_weights};
  const bool of_inputs = compare_with == CompareWith::kInputs, of_layer = compare_with == CompareWith::kLayer;
  if (!of_layer && (has_step_targets || output.is_sequence)) check_kind(output);
  TargetInput out{.value = of_inputs || of_layer ? x : y, .weights = weights, .class_weights = class_weights};
  if (output.is_sequence) {
    if (!of_layer) out.value = rows_of_steps(time_major(out.value));  // of a layer they are rows
    out.weights = step_weights(output, weights);
  }
  if (of_inputs || of_layer)
    out.value = shaped_as(out.value, output);
  else if (takes_class_column())
    out.value = cast(subtensor(out.value, {all(), columns->first}), DType::kInt64);
  else if (columns)
    out.value = slice_axis(out.value, 1, columns->first, columns->second - columns->first);
  return out;
}

Expr TrainedOutput::unit(const ModelOutput& output) const {
  if (standard.empty()) return {};
  const auto count = static_cast<int64_t>(standard.scale.size());
  Tensor scale = Tensor::of(standard.scale, {count});
  Shape shape;
  for (size_t i = 1; count > 1 && i < output.value.rank(); ++i)
    if (const Dim& dim = output.value.dims()[i]; dim.is_known()) shape.push_back(dim.value());
  return Shared(element_count(shape) == count ? scale.reshape(shape) : scale, "unit", true).expr();
}

std::vector<TrainedOutput> outputs_of(const Experiment& experiment) {
  std::vector<TrainedOutput> out;
  for (const OutputLossConfig& config : output_losses(experiment)) {
    TrainedOutput one{{config.layer, config.objective->make(), config.weight}};
    one.compare_with = config.compare_with;
    one.compare_layer = config.compare_layer;
    if (!config.columns.empty()) one.columns = {config.columns.at(0), config.columns.at(1)};
    const auto count = static_cast<int64_t>(config.class_weights.size());
    if (count > 0)
      one.class_weights =
          Shared(Tensor::of(config.class_weights, {count}).cast(floatX()), "class_weights", true).expr();
    one.position = config.at("columns");
    one.has_recurrent_layer = has_layer(experiment, &LayerOptions::Maker::is_recurrent);
    one.has_flatten_layer = has_layer(experiment, &LayerOptions::Maker::keeps_numbers);
    out.push_back(std::move(one));
  }
  return out;
}

void set_standards(std::vector<TrainedOutput>& outputs, const Standardization* standardization) {
  for (TrainedOutput& output : outputs) {
    output.standard = {};
    if (!standardization || output.takes_class_column() || output.compare_with == CompareWith::kLayer) continue;
    output.standard = output.compare_with == CompareWith::kInputs ? standardization->inputs : standardization->targets;
    if (!output.columns || output.standard.empty()) continue;
    for (std::vector<double>* numbers : {&output.standard.mean, &output.standard.scale})
      *numbers = {numbers->begin() + output.columns->first, numbers->begin() + output.columns->second};
  }
}

void set_step_targets(std::vector<TrainedOutput>& outputs, const Split& split) {
  const bool may_be_steps = split.is_sequence() && !split.has_step_targets() &&
                            (split.targets() == Targets::kValues || split.targets() == Targets::kLabels) &&
                            split.target_shape() == Shape{split.steps()};
  for (TrainedOutput& output : outputs) {
    output.has_step_targets = split.has_step_targets();
    if (!may_be_steps) continue;
    const DataArray& y = split.y_array();
    output.row_targets = str(y.raw.type_text(), " in ", y.origin);
    output.as_step_targets = {y.raw.dim(0), split.steps(), 1};
  }
}

// ---- what cannot be -------------------------------------------------------------------------------------------------

// Class numbers among values: each is an integer from 0 on, and below the number of classes of the layer.
static void check_class_column(const TrainedOutput& output, const Split& split, int64_t classes) {
  constexpr int64_t kRows = int64_t{1} << 14;
  for (int64_t first = 0; first < split.size(); first += kRows) {
    const Tensor y = split.read_targets(first, std::min(kRows, split.size() - first), DType::kFloat64);
    const int64_t width = y.shape().back(), of_row = split.has_step_targets() ? split.steps() : 1;
    for (int64_t i = 0; i < y.size() / width; ++i) {
      if (i % of_row >= split.length(first + i / of_row)) continue;
      const double value = y.as_double(i * width + output.columns->first);
      if (value >= 0 && value == std::floor(value) && value < static_cast<double>(classes)) continue;
      throw UserError(Message{.what = str(row_location(split.y_array(), split.file_row(first + i / of_row)),
                                          ": the target is no class, which the output ", output.layer, " learns"),
                              .expected = str("an integer from 0 to ", classes - 1, " in column ",
                                              output.columns->first, " of the targets"),
                              .got = str(value),
                              .config = output.position});
    }
  }
}

static void check_columns(const TrainedOutput& output, const Dataset& data, const Split& split) {
  const Shape target = split.step_target_shape();
  const int64_t width = target.empty() ? 1 : target.back();
  if (data.targets() == Targets::kClasses || target.size() != 1)
    throw UserError(
        Message{.what = str("the targets have no columns, of which the output ", output.layer, " names some"),
                .expected = "data.target = \"values\" or \"labels\", a row of numbers for each example",
                .got = str(name_of(data.targets()), " of shape ", shape_text(target)),
                .config = output.position});
  if (output.columns->second > width)
    throw UserError(Message{.what = str("the output ", output.layer, " names columns that the targets have not"),
                            .expected = str("at most ", width, " (numbers of a target)"),
                            .got = str('[', output.columns->first, ", ", output.columns->second, ']'),
                            .config = output.position});
  if (!output.takes_class_column()) return;
  const std::string classes = str("objective \"", output.objective->name(), "\" learns classes");
  if (output.columns->second - output.columns->first != 1)
    throw UserError(Message{.what = str(classes, ", which are in one column"),
                            .expected = str('[', output.columns->first, ", ", output.columns->first + 1, ']'),
                            .got = str('[', output.columns->first, ", ", output.columns->second, ']'),
                            .config = output.position});
  if (data.standardization && !data.standardization->targets.empty())
    throw UserError(Message{.what = str(classes, ", and standardized targets are none"),
                            .expected = "data.standardize_targets = false",
                            .config = output.position});
}

void check_targets(const std::vector<TrainedOutput>& outputs, const Dataset& data, const Split& split) {
  for (const TrainedOutput& output : outputs) {
    if (output.compare_with != CompareWith::kTargets || split.size() == 0) continue;
    if (output.columns)
      check_columns(output, data, split);
    else if (takes_only(*output.objective, TargetForm::kClasses))
      require_classes(split);
  }
}

// The first number of these columns that is not from 0 to 1, of the examples themselves or of their targets: UserError,
// which `says` what wants them.
static void check_range(const Dataset& data, bool of_inputs, const std::optional<std::pair<int64_t, int64_t>>& columns,
                        const std::string& says, const std::string& hint) {
  constexpr int64_t kRows = 1024;
  for (const Split* split : {&data.train, &data.valid, &data.test})
    for (int64_t first = 0; first < split->size(); first += kRows) {
      const int64_t count = std::min(kRows, split->size() - first);
      const Tensor rows =
          of_inputs ? split->read(first, count, DType::kFloat64).x : split->read_targets(first, count, DType::kFloat64);
      const int64_t width = rows.size() / count;
      for (int64_t i = 0; i < rows.size(); ++i) {
        const double value = rows.data<double>()[i];
        const int64_t column = i % width;
        const bool is_learned = !columns || (column >= columns->first && column < columns->second);
        if (!is_learned || (value >= 0 && value <= 1)) continue;
        const DataArray& array = of_inputs ? split->x_array() : split->y_array();
        throw UserError(Message{.what = str(row_location(array, split->file_row(first + i / width)), ": ", says),
                                .expected = "numbers from 0 to 1",
                                .got = str(value),
                                .config = array.where,
                                .hint = hint});
      }
    }
}

// Of other numbers the loss may fall below 0 without end. What is streamed is not read for it.
static void check_shares(const TrainedOutput& output, const Dataset& data) {
  if (data.streamed || output.compare_with == CompareWith::kLayer) return;
  const char* scaling = "data.scale brings the examples there; data.standardize does not";
  const bool of_inputs = output.compare_with == CompareWith::kInputs;
  const bool learns_shares = output.objective->gives_probabilities() && takes(*output.objective, TargetForm::kValues);
  if (learns_shares && (of_inputs || data.targets() == Targets::kValues))
    check_range(data, of_inputs, output.columns,
                str("objective \"", output.objective->name(), "\" learns probabilities"), of_inputs ? scaling : "");
}

const Layer& layer_of(const Model& model, const std::string& name) {
  for (const auto& layer : model.layers())
    if (layer->name() == name) return *layer;
  throw UserError(Message{.what = str("the model has no layer ", name)});
}

// Fewer outputs than classes: not every label has an output.
static void check_classes(const TrainedOutput& output, const Model& model, const Dataset& data) {
  const Layer& layer = layer_of(model, output.layer);
  const Shape& shape = layer.output_shape();
  const bool has_classes = output.classifies(data) || data.targets() == Targets::kLabelSequences;
  if (!has_classes || output.compare_with != CompareWith::kTargets || shape.size() != 1) return;
  if (output.takes_class_column()) {
    for (const Split* split : {&data.train, &data.valid, &data.test}) check_class_column(output, *split, shape[0]);
    return;
  }
  if (shape[0] == 1 || shape[0] >= data.classes()) return;
  throw UserError(Message{.what = str("layer ", layer.name(), " has fewer outputs than there are classes"),
                          .expected = str("at least ", data.classes(), " (classes)"),
                          .got = std::to_string(shape[0]),
                          .config = layer.position()});
}

void check_outputs(const std::vector<TrainedOutput>& outputs, const Model& model, const Dataset& data) {
  const std::vector<std::string> ends = model.outputs();
  for (const std::string& end : ends) {
    if (std::any_of(outputs.begin(), outputs.end(), [&](const TrainedOutput& o) { return o.layer == end; })) continue;
    throw UserError(Message{.what = "the model has several outputs",
                            .expected = "one: each layer but the last is an input of another one",
                            .got = join(ends, ", "),
                            .config = layer_of(model, end).position(),
                            .hint = str("no layer takes ", end, "; [[loss.outputs]] gives each output an objective")});
  }
  for (const TrainedOutput& output : outputs) {
    check_classes(output, model, data);
    check_shares(output, data);
  }
}

}  // namespace thtrain
