#include "trainers/demands.h"

#include "nn/activations.h"
#include "nn/boltzmann_machine.h"

namespace thtrain {

std::string source_of(const Experiment& experiment, size_t layer) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  while (true) {
    const std::vector<std::string>& inputs = layers[layer]->inputs;
    if (inputs.empty() && layer == 0) return "x";
    size_t source = layer - 1;
    if (!inputs.empty())
      for (source = 0; source < layer && layers[source]->name != inputs.front();) ++source;
    if (source == layer) return inputs.front();
    if (!layers[source].kind_of().maker.keeps_numbers) return layers[source]->name;
    layer = source;
  }
}

namespace {

// Symbols that are multiplied, or moved, are none.
void check_unchanged(const Experiment& experiment, const LayerOptions& layer, const Split& split) {
  const Standardization* standardization = split.standardization();
  const bool is_standardized = standardization && !standardization->inputs.empty();
  if (split.scale() == 1 && !is_standardized) return;
  const char* key = is_standardized ? "standardize" : "scale";
  throw UserError(Message{.what = str("layer ", layer.name, " takes symbols, which data.", key, " changes"),
                          .expected = is_standardized ? "data.standardize = \"none\"" : "data.scale = 1",
                          .got = is_standardized ? "" : str("data.scale = ", split.scale()),
                          .config = experiment.data.has_value() ? experiment.data->at(key) : layer.section.position});
}

void demand_symbols(Demands& out, const LayerOptions& layer, const LayerOptions::Symbols& symbols, int64_t classes) {
  const int64_t count = symbols.count.value_or(classes);
  if (count == 0 || (out.symbols > 0 && out.symbols <= count)) return;
  const std::string key = layer.section.name_of("count");
  out.symbols = count;
  out.layer = layer.name;
  out.where = layer.section.position;
  out.hint = symbols.count ? str(key, " is the number of symbols")
                           : str(key, " is not given, and is the number of classes of the targets, ", classes);
}

}  // namespace

Split demanding(const Experiment& experiment, const Dataset& data, const Split& split) {
  Demands demands;
  for (size_t i = 0; i < experiment.model.layers.size(); ++i) {
    const OneOf<LayerOptions>& layer = experiment.model.layers[i];
    const std::optional<LayerOptions::Symbols> symbols = layer.kind_of().maker.symbols(*layer);
    if (!symbols || source_of(experiment, i) != "x") continue;
    check_unchanged(experiment, *layer, split);
    demand_symbols(demands, *layer, *symbols, data.classes());
  }
  for (const OutputLossConfig& output : output_losses(experiment))
    if (output.compare_with == CompareWith::kTargets && output.objective->blank_label())
      demands.blank = output.objective->blank_label();
  Split out = split;
  if (demands.symbols > 0 || demands.blank) out.set_demands(std::move(demands));
  return out;
}

void check_demands(const Experiment& experiment, const Dataset& data) {
  for (const Split* split : {&data.train, &data.valid, &data.test}) {
    if (split->size() == 0) continue;
    const Split demanded = demanding(experiment, data, *split);
    if (!data.streamed) check_demands(demanded, experiment.compiler.floatX);
  }
}

namespace {

// The first number of the examples that is not from 0 to 1.
void check_examples_of(const MachineLayer& machine, const Dataset& data, const std::string& hint) {
  constexpr int64_t kRows = 1024;
  for (const Split* split : {&data.train, &data.valid, &data.test})
    for (int64_t first = 0; first < split->size(); first += kRows) {
      const int64_t count = std::min(kRows, split->size() - first);
      const Tensor rows = split->read(first, count, DType::kFloat64).x;
      const int64_t width = rows.size() / count;
      for (int64_t i = 0; i < rows.size(); ++i) {
        const double value = rows.data<double>()[i];
        if (value >= 0 && value <= 1) continue;
        const DataArray& array = split->x_array();
        throw UserError(Message{.what = str(row_location(array, split->file_row(first + i / width)),
                                            ": the visible units of ", machine.name(), " are binary"),
                                .expected = "numbers from 0 to 1",
                                .got = str(value),
                                .config = array.where,
                                .hint = hint});
      }
    }
}

// What says that the layer gives numbers that are not from 0 to 1; "": nothing does.
std::string beyond_shares(const OneOf<LayerOptions>& layer) {
  const LayerOptions::Maker& kind = layer.kind_of().maker;
  const std::string_view activation = kind.activation(*layer);
  if (!activation.empty()) return gives_shares(activation) ? "" : str("activation = \"", activation, '"');
  return kind.exceeds_shares ? str("type = \"", layer.name(), '"') : "";
}

void check_visible_units_of(size_t index, const Experiment& experiment, const MachineLayer& machine,
                            const Dataset& data) {
  const std::string source = source_of(experiment, index),
                    gaussian = machine.is_one_machine() ? "visible = \"gaussian\" takes other numbers" : "";
  const bool is_standardized = data.standardization && !data.standardization->inputs.empty();
  const char* scaling = is_standardized ? "data.standardize = \"none\" leaves the examples as they are"
                                        : "data.scale brings the examples there; data.standardize does not";
  if (source == "x" && !data.streamed)
    return check_examples_of(machine, data, gaussian.empty() ? scaling : str(scaling, "; ", gaussian));
  const std::string what = str("the visible units of ", machine.name(), " are binary");
  if (source == "x" && is_standardized)
    throw UserError(Message{.what = what,
                            .expected = "numbers from 0 to 1",
                            .got = "standardized examples",
                            .config = machine.position(),
                            .hint = gaussian});
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const std::string beyond = layer->name == source ? beyond_shares(layer) : "";
    if (beyond.empty()) continue;
    throw UserError(
        Message{.what = what,
                .expected = "numbers from 0 to 1",
                .got = str("what the layer ", source, " gives, with ", beyond),
                .config = machine.position(),
                .hint = gaussian.empty() ? "activation = \"sigmoid\" gives numbers from 0 to 1" : gaussian});
  }
}

// The objective would pass over them.
void check_weights(std::string_view objective, const Dataset& data) {
  for (const Split* split : {&data.train, &data.valid, &data.test})
    if (split->has_weights())
      throw UserError(Message{.what = str("objective \"", objective, "\" takes no weights of the examples"),
                              .expected = "examples that count alike",
                              .got = str("weights in ", split->weights_array().origin),
                              .config = split->weights_array().where});
}

}  // namespace

void check_machines(const Experiment& experiment, const Model& model, const Dataset& data) {
  for (const OutputLossConfig& output : output_losses(experiment)) {
    if (!output.objective->trains_machine()) continue;
    check_weights(output.objective.name(), data);
    for (size_t i = 0; i < model.layers().size(); ++i) {
      const auto* machine = dynamic_cast<const MachineLayer*>(model.layers()[i].get());
      if (machine && !machine->is_gaussian() && machine->name() == output.layer)
        check_visible_units_of(i, experiment, *machine, data);
    }
  }
}

}  // namespace thtrain
