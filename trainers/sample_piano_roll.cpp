#include "trainers/sample_piano_roll.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/random_state.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "datasets/sources/piano_rolls.h"
#include "nn/boltzmann_machine.h"
#include "nn/model_pass.h"
#include "nn/noise.h"
#include "trainers/build_model.h"
#include "trainers/outputs.h"
#include "trainers/program.h"
#include "trainers/stepping_model.h"

namespace thtrain {

namespace {

// Steps of a model of the next keys that are drawn before those that are kept. The first follows a silent one, and how
// a piece begins was not learned: a piece's first step is never a target.
constexpr int64_t kLeadIn = 16;
constexpr const char* kWhat = "piano rolls";

// The rows of the first matrix W, on the way from the keys.
int64_t keys_of(const Experiment& experiment, const std::string& weights) {
  const std::map<std::string, Tensor> arrays = read_weights(weights);
  for (size_t i = 0; i < experiment.model.layers.size(); ++i) {
    const OneOf<LayerOptions>& layer = experiment.model.layers[i];
    const std::string name = layer->name.empty() ? str(layer.name(), 1) : layer->name;
    const auto found = arrays.find(name + "/W");
    if (found != arrays.end() && found->second.rank() == 2) return found->second.dim(0);
  }
  throw UserError(
      Message{.what = str(weights, ": no layer has a matrix W, whose rows are those of keys"),
              .expected = "a model whose first layer with weights is of a type such as \"rnn\" or \"dense\"",
              .got = join(arrays, ", ", [](const auto& entry) { return entry.first; })});
}

// ---- from the machine of each step ---------------------------------------------------------------------------------

const MachineLayer& generating_layer(const Model& model, const Experiment& experiment) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].kind_of().maker.generates_sequences) continue;
    const auto* machine = dynamic_cast<const MachineLayer*>(model.layers()[i].get());
    TH_CHECK(machine, "layer ", layers[i]->name, " is no machine");
    const std::vector<std::string>& inputs = layers[i]->inputs;
    const bool takes_examples = inputs.empty() ? i == 0 : inputs == std::vector<std::string>{"x"};
    if (takes_examples) return *machine;
    throw UserError(Message{.what = str("layer ", machine->name(), " (", machine->type(),
                                        ") takes what another layer gives: its visible units are no keys"),
                            .expected = str("an ", machine->type(), " layer that takes the examples"),
                            .config = machine->position()});
  }
  TH_CHECK(false, "a model without a layer that draws sequences");
  __builtin_unreachable();
}

Tensor drawn_by_machine(const Model& model, const Experiment& experiment, const RollSampling& how) {
  const MachineLayer& machine = generating_layer(model, experiment);
  RandomState random(how.seed);
  std::vector<Tensor> values = {Tensor(how.length)};
  const Expr steps = tensor("steps", {}, DType::kInt64);
  std::vector<Expr> states;
  for (const Shared* state : {&machine.visible_random(), &machine.hidden_random()}) {
    const Shape shape = state->type().known_shape();
    values.push_back(mrg_state_of(random, shape.back()));
    states.push_back(tensor(state == &machine.visible_random() ? "visible_random" : "hidden_random",
                            {shape[0], shape[1]}, DType::kInt32));
  }
  const Expr roll = machine.generate(steps, 1, how.gibbs_steps, states[0], states[1]).visible;
  return function({steps, states[0], states[1]}, {Out(roll)}, {},
                  function_options(experiment.compiler, "sample"))(values)[0];
}

// ---- from the probability of each key ------------------------------------------------------------------------------

// From the keys of a step to the logits of those of the next one.
Function keys_step_of(const Model& model, const Experiment& experiment, int64_t keys) {
  const Expr now = tensor("keys", {1, 1, keys}, model.dtype());
  ModelPass pass = model.pass({now}, Phase::kGeneration);
  const TrainedOutput of = outputs_of(experiment).front();
  const ModelOutput output = pass.model_output(of.layer);
  const Dims& dims = output.value.dims();
  const bool fits = output.is_sequence && output.link != ModelOutput::Link::kSoftmax &&
                    of.objective->gives_probabilities() && dims.size() == 2 && dims[1].is(keys);
  if (!fits)
    throw UserError(
        Message{.what = str("the output ", of.layer, " does not tell the next keys of a piano roll"),
                .expected = str("the objective \"binary_crossentropy\", and at each step of a sequence the "
                                "probabilities of ",
                                keys, " keys, or their logits"),
                .got = str("the objective \"", of.objective->name(), "\", and ",
                           output.is_sequence ? "at each step " : "of each sequence ", type_text(output.value)),
                .config = output.value.node().origin.config()});
  return function({now}, {Out(logits_of(output))}, pass.updates(), function_options(experiment.compiler, "sample"));
}

Tensor drawn_by_key(const Model& model, const Experiment& experiment, int64_t keys, const RollSampling& how,
                    const std::string& weights) {
  Function step = keys_step_of(model, experiment, keys);
  RandomState random(how.seed);
  const int64_t steps = how.length;
  Tensor roll = Tensor::zeros(DType::kFloat64, {steps, 1, keys}), now = Tensor::zeros(model.dtype(), {1, 1, keys});
  std::vector<double> sounds(static_cast<size_t>(keys));
  for (int64_t t = -kLeadIn; t < steps; ++t) {
    const Tensor logits = step({now})[0];
    if (first_non_finite(logits))
      throw UserError(Message{.what = str(weights, ": the model gives numbers that are not finite"),
                              .expected = "weights of a run that did not diverge"});
    for (int64_t key = 0; key < keys; ++key) {
      const double logit = logits.as_double(key), temperature = how.temperature;
      sounds[static_cast<size_t>(key)] =
          temperature == 0 ? logit > 0 : random.uniform(0, 1) < 1 / (1 + std::exp(-logit / temperature));
    }
    if (t >= 0) std::copy(sounds.begin(), sounds.end(), roll.data<double>() + t * keys);
    now = Tensor::of(sounds, {1, 1, keys}).cast(model.dtype());
  }
  return roll;
}

}  // namespace

bool has_generating_layer(const Experiment& experiment) {
  return has_layer(experiment, &LayerOptions::Maker::generates_sequences);
}

bool gives_piano_rolls(const Experiment& experiment) {
  return experiment.data.is<PianoRollsConfig>() || has_generating_layer(experiment);
}

Tensor sample_piano_roll(const Experiment& given, const std::string& weights, const RollSampling& how) {
  const Experiment experiment = step_by_step(checked_experiment(given), kWhat);
  const FloatXScope floatx(experiment.compiler.floatX);
  const int64_t keys = keys_of(experiment, weights);
  const Model model = stepping_model(experiment, {keys}, 0, weights, kWhat);
  const Tensor roll = has_generating_layer(experiment) ? drawn_by_machine(model, experiment, how)
                                                       : drawn_by_key(model, experiment, keys, how, weights);
  return roll.reshape({how.length, keys});
}

}  // namespace thtrain
