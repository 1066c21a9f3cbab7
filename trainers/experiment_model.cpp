// The [model] section: its layers, their names and the checks between them.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/base/nearest_name.h"
#include "trainers/experiment.h"

namespace thtrain {

// A layer without a name is called by its type, and counted among those of its type: the one softmax is not.
static std::vector<std::string> final_names(const std::vector<OneOf<LayerOptions>>& layers) {
  std::map<std::string_view, int> count;
  std::vector<std::string> names;
  for (const OneOf<LayerOptions>& layer : layers) {
    int number = ++count[layer.name()];
    std::string unnamed = layer.kind_of().maker.is_classifier ? std::string(layer.name()) : str(layer.name(), number);
    names.push_back(layer->name.empty() ? unnamed : layer->name);
  }
  return names;
}

namespace {

class ModelCheck {
 public:
  ModelCheck(const ModelConfig& model, Findings& findings)
      : layers_(model.layers), names_(final_names(model.layers)), findings_(findings) {}

  void check() {
    for (size_t i = 0; i < layers_.size(); ++i) check_inputs(i);
    for (size_t i = 0; i < layers_.size(); ++i) {
      check_index(i);
      check_name(i);
    }
  }

 private:
  const Section& section(size_t i) const { return layers_[i]->section; }

  void check_inputs(size_t i) {
    if (layers_[i]->inputs.empty() && i > 0) taken_.insert(names_[i - 1]);
    std::vector<std::string> before = {"x"};
    before.insert(before.end(), names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<std::string> after(names_.begin() + static_cast<std::ptrdiff_t>(i), names_.end());
    LayerOptions layer = *layers_[i];
    layer.name = names_[i];
    for (const std::string& name : layer.inputs) {
      taken_.insert(name);
      if (std::optional<Message> message = wrong_input(layers_[i].name(), layer, name, before, after))
        findings_.add(std::move(*message));
    }
  }

  void check_index(size_t i) {
    const bool is_last = i + 1 == layers_.size();
    if (layers_[i].kind_of().maker.is_classifier && !is_last && taken_.contains(names_[i]))
      findings_.add({.what = str(section(i).path, " is a softmax, but not the last layer"),
                     .expected = "one softmax, at the end",
                     .config = section(i).at("type")});
  }

  void check_name(size_t i) {
    auto [entry, fresh] = owner_.emplace(names_[i], section(i).path);
    if (!fresh)
      findings_.add({.what = str("two layers are called ", names_[i]),
                     .expected = "a name for each layer",
                     .config = section(i).at("name"),
                     .hint = str("the other one is ", entry->second)});
    if (names_[i] == "data")
      findings_.add({.what = str(section(i).name_of("name"), " is a name that thtrain uses itself"),
                     .expected = "another name",
                     .got = "\"data\"",
                     .config = section(i).at("name"),
                     .hint = "data/mean and data/scale in files of weights are those of standardized examples"});
  }

  const std::vector<OneOf<LayerOptions>>& layers_;
  std::vector<std::string> names_;
  std::set<std::string> taken_;               // by another layer
  std::map<std::string, std::string> owner_;  // of a name
  Findings& findings_;
};

}  // namespace

void ModelConfig::describe(Fields<ModelConfig>& f) {
  f.about(
      "Layers, each of which takes the one before it unless its `inputs` name others: a chain, or a graph with "
      "branches, residual connections (`add`), several inputs (`columns` of the examples) and several outputs, "
      "which are the layers that no other takes.");
  f.field("weights", &ModelConfig::weights)
      .help("An .npz file to start from, with arrays such as `dense1/W`; it is looked for as the data is.");
  f.kind("layers", &ModelConfig::layers, "type").required().help("The layers, from input to output.");
  f.check([](const ModelConfig& c, Findings& findings) { ModelCheck(c, findings).check(); });
}

// Of other layers, the negative log-likelihood takes rows of logits.
static void check_layer_of(const OutputLossConfig& output, const OneOf<LayerOptions>& layer, bool is_last,
                           Findings& findings) {
  if (!layer.has_value() || !output.objective->judges_classifier()) return;
  if (output.compare_with != CompareWith::kTargets) {
    findings.add({.what = str("objective \"", output.objective.name(), "\" compares with classes"),
                  .expected = "another type, such as \"squared_error\"",
                  .got = str(output.name_of("compare_with"), " = \"",
                             output.compare_with == CompareWith::kInputs ? "inputs" : "layer", '"'),
                  .config = output.at("compare_with")});
    return;
  }
  const LayerOptions::Maker& kind = layer.kind_of().maker;
  const std::string_view activation = kind.is_affine ? kind.activation(*layer) : std::string_view();
  if (kind.is_classifier || activation == "linear") return;
  if (activation == "softmax") {
    findings.add({.what = str(layer->section.path, ": a classifier's layer of type \"", layer.name(),
                              "\" gives logits, to which the loss applies the softmax itself"),
                  .expected = "no activation, or type = \"softmax\"",
                  .got = "activation = \"softmax\"",
                  .config = layer->section.at("activation")});
    return;
  }
  findings.add({.what = is_last ? str("the last layer, ", layer->section.path, ", gives no probabilities")
                                : str(layer->section.path, ", which ", output.path, " judges, gives no probabilities"),
                .expected = "type = \"softmax\"",
                .got = str("type = \"", layer.name(), '"'),
                .config = layer->section.at("type"),
                .hint = str("a classifier ends with [[model.layers]] and type = \"softmax\"; other objectives, as ",
                            is_last ? "loss.type" : output.name_of("type"), ", take other layers")});
}

bool has_layer(const Experiment& experiment, bool LayerOptions::Maker::*is) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer.kind_of().maker.*is; });
}

std::vector<OutputLossConfig> output_losses(const Experiment& experiment) {
  const LossConfig& loss = experiment.loss;
  if (!loss.outputs.empty()) return loss.outputs;
  OutputLossConfig out;
  static_cast<Section&>(out) = loss;
  out.objective = loss.objective;
  out.compare_with = loss.compare_with;
  out.compare_layer = loss.compare_layer;
  out.class_weights = loss.class_weights;
  out.layer = experiment.model.layers.empty() ? "" : experiment.model.layers.back()->name;
  return {out};
}

// Those that floatX cannot hold, and a sum of nothing.
static void check_output_weights(const Experiment& experiment, Findings& findings) {
  const bool is_float32 = experiment.compiler.floatX == DType::kFloat32;
  const double most = is_float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max(),
               least = is_float32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  bool all_zero = true;
  for (const OutputLossConfig& output : experiment.loss.outputs) {
    all_zero = all_zero && output.weight == 0;
    if (output.weight == 0 || (output.weight >= least && output.weight <= most)) continue;
    findings.add(
        {.what = str(output.name_of("weight"), " is no factor that ", name_of(experiment.compiler.floatX), " can hold"),
         .expected = str("0, or from ", number_text(least), " to ", number_text(most)),
         .got = number_text(output.weight),
         .config = output.at("weight")});
  }
  if (!all_zero) return;
  const OutputLossConfig& first = experiment.loss.outputs[0];
  findings.add({.what = str(first.name_of("weight"), " is 0, as those of all outputs: nothing would be trained"),
                .expected = "a weight above 0 for one of loss.outputs",
                .config = first.at("weight")});
}

// Of a key that names a layer; "" names none.
static void check_named_layer(const Section& section, const char* key, const std::string& layer,
                              const std::vector<std::string>& names, Findings& findings) {
  if (layer.empty() || std::find(names.begin(), names.end(), layer) != names.end()) return;
  const std::string near = nearest_name(layer, names);
  findings.add({.what = str(section.name_of(key), " is no layer of the model"),
                .expected = str("one of ", join(names, ", ")),
                .got = layer,
                .config = section.at(key),
                .hint = near.empty() ? "" : str("did you mean ", near, '?')});
}

// Does the layer `later` compute with what the layer `layer` gives?
static bool follows(const std::vector<OneOf<LayerOptions>>& layers, const std::vector<std::string>& names, size_t later,
                    size_t layer) {
  std::vector<bool> depends(layers.size());
  depends[layer] = true;
  for (size_t i = layer + 1; i < layers.size(); ++i) {
    const std::vector<std::string>& inputs = layers[i]->inputs;
    if (inputs.empty()) depends[i] = depends[i - 1];
    for (size_t k = layer; k < i; ++k)
      if (depends[k] && std::count(inputs.begin(), inputs.end(), names[k]) > 0) depends[i] = true;
  }
  return depends[later];
}

// What an output should give does not follow from it.
static void check_compared(const OutputLossConfig& output, const std::vector<OneOf<LayerOptions>>& layers,
                           const std::vector<std::string>& names, Findings& findings) {
  auto index_of = [&](const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const size_t own = output.layer.empty() ? names.size() - 1 : index_of(output.layer),
               other = index_of(output.compare_layer);
  if (output.compare_with != CompareWith::kLayer || own == names.size() || other == names.size() ||
      !follows(layers, names, other, own))
    return;
  findings.add(
      {.what = str(output.name_of("compare_layer"), own == other ? " is the output itself" : " follows the output"),
       .expected = str("a layer that does not follow from ", names[own]),
       .got = output.compare_layer,
       .config = output.at("compare_layer")});
}

void check_outputs(const Experiment& experiment, Findings& findings) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  if (layers.empty()) return;
  const std::vector<std::string> names = final_names(layers);
  check_named_layer(experiment.loss, "compare_layer", experiment.loss.compare_layer, names, findings);
  check_named_layer(experiment.loss, "contracted", experiment.loss.contracted, names, findings);
  check_named_layer(experiment.output, "filters", experiment.output.filters, names, findings);
  check_named_layer(experiment.output, "samples", experiment.output.samples, names, findings);
  if (experiment.loss.outputs.empty()) {
    check_layer_of(output_losses(experiment)[0], layers.back(), true, findings);
    check_compared(output_losses(experiment)[0], layers, names, findings);
    return;
  }
  check_output_weights(experiment, findings);
  std::set<std::string> judged;
  for (const OutputLossConfig& output : experiment.loss.outputs) {
    check_named_layer(output, "compare_layer", output.compare_layer, names, findings);
    check_named_layer(output, "layer", output.layer, names, findings);
    auto found = std::find(names.begin(), names.end(), output.layer);
    if (found == names.end()) continue;
    if (!judged.insert(output.layer).second)
      findings.add({.what = str("two of loss.outputs judge the layer ", output.layer),
                    .expected = "one for each layer",
                    .config = output.at("layer")});
    check_layer_of(output, layers[static_cast<size_t>(found - names.begin())], false, findings);
    check_compared(output, layers, names, findings);
  }
}

static void name_layers(ModelConfig& model) {
  const std::vector<std::string> names = final_names(model.layers);
  for (size_t i = 0; i < names.size(); ++i) model.layers[i]->name = names[i];
}

static Experiment read_one(const ConfigNode& root, Findings& findings) {
  Experiment out = read_config<Experiment>(root, findings);
  // A layer whose type is wrong has no kind.
  std::erase_if(out.model.layers, [](const OneOf<LayerOptions>& layer) { return !layer.has_value(); });
  name_layers(out.model);
  return out;
}

// Is it of a kind that files can name? A program may bring kinds of its own.
template <class Base>
static bool is_listed(const OneOf<Base>& one) {
  const std::vector<Kind<Base>>& kinds = Base::kinds();
  return !one.has_value() ||
         std::any_of(kinds.begin(), kinds.end(), [&](const Kind<Base>& kind) { return kind.name == one.name(); });
}

static bool has_own_kinds(const Experiment& e) {
  const auto own = [](const auto& one) { return !is_listed(one); };
  const auto judged_by_own = [&](const OutputLossConfig& output) { return own(output.objective); };
  return std::any_of(e.model.layers.begin(), e.model.layers.end(), own) || own(e.loss.objective) ||
         std::any_of(e.loss.outputs.begin(), e.loss.outputs.end(), judged_by_own) || own(e.trainer.optimizer) ||
         (e.trainer.schedule && own(*e.trainer.schedule)) ||
         (e.trainer.momentum_schedule && own(*e.trainer.momentum_schedule)) ||
         std::any_of(e.trainer.metrics.begin(), e.trainer.metrics.end(), own) || own(e.data);
}

// Its table is read anew: what a file may not say, a program may not either. A table cannot name kinds of the
// program's own, and an experiment with one is checked where it is used.
static void check_one(const Experiment& experiment, Findings& findings) {
  if (has_own_kinds(experiment)) return;
  ConfigNode root = resolved_config(experiment);
  std::erase_if(root.children, [](const ConfigNode& entry) { return entry.key == "phase"; });
  read_config<Experiment>(root, findings);
  if (findings.empty() && !experiment.phase.empty()) check_trained(experiment, findings);
}

Experiment checked_experiment(const Experiment& experiment) {
  Experiment out = experiment;
  Findings findings;
  name_layers(out.model);
  for (Experiment& phase : out.phases) {
    name_layers(phase.model);
    check_one(phase, findings);
  }
  if (out.phases.empty()) check_one(out, findings);
  findings.raise();
  return out;
}

Experiment read_experiment(const ConfigNode& root, Findings& findings) {
  return has_phases(root) ? read_phases(root, findings, read_one) : read_one(root, findings);
}

}  // namespace thtrain
