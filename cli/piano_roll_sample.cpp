#include "cli/piano_roll_sample.h"

#include <algorithm>
#include <cmath>

#include "cli/step_by_step.h"
#include "compiler/base/random_state.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "datasets/sources/piano_rolls.h"
#include "nn/layers/rnn_rbm.h"
#include "nn/noise.h"
#include "nn/objectives/binary_crossentropy.h"
#include "trainers/build_model.h"
#include "trainers/outputs.h"
#include "trainers/program.h"

namespace thtrain {

namespace {

constexpr int64_t kLength = 200, kGibbsSteps = 25;  // as the Deep Learning Tutorials (rnnrbm)
// Steps of a model of the next keys that are drawn before those that are kept. The first follows a silent one, and how
// a piece begins was not learned: a piece's first step is never a target.
constexpr int64_t kLeadIn = 16;
constexpr const char* kWhat = "piano rolls";

const OneOf<LayerOptions>* machine_of(const Experiment& experiment) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  auto found =
      std::find_if(layers.begin(), layers.end(), [](const auto& l) { return l.template is<RnnRbm::Options>(); });
  return found == layers.end() ? nullptr : &*found;
}

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

void refuse_option(const std::string& option, const std::string& why) {
  throw UserError(
      Message{.what = str("thtrain sample: ", option, " has no use: ", why), .expected = str("no ", option)});
}

std::string text_of(const Tensor& roll, int64_t keys) {  // [steps, 1, keys]
  const int64_t steps = roll.dim(0);
  std::string out = str("@ sample ", steps, ' ', keys, '\n');
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<int64_t> sounding;
    for (int64_t key = 0; key < keys; ++key)
      if (roll.as_double(step * keys + key) != 0) sounding.push_back(key);
    out += join(sounding, " ", [](int64_t key) { return std::to_string(key); }) + "\n";
  }
  return out;
}

// ---- from the machine of each step
// ------------------------------------------------------------------------------------

const RnnRbm& machine_layer(const Model& model, const Experiment& experiment) {
  const OneOf<LayerOptions>& options = *machine_of(experiment);
  for (const auto& layer : model.layers())
    if (const auto* machine = dynamic_cast<const RnnRbm*>(layer.get())) {
      const bool takes_examples = options->inputs.empty() ? &options == &experiment.model.layers.front()
                                                          : options->inputs == std::vector<std::string>{"x"};
      if (takes_examples) return *machine;
      throw UserError(Message{.what = str("layer ", machine->name(),
                                          " (rnn_rbm) takes what another layer gives: its "
                                          "visible units are no keys"),
                              .expected = "an rnn_rbm layer that takes the examples",
                              .config = machine->position()});
    }
  TH_CHECK(false, "a model without an rnn_rbm");
  __builtin_unreachable();
}

Tensor drawn_by_machine(const Model& model, const Experiment& experiment, const SampleArguments& arguments) {
  const RnnRbm& machine = machine_layer(model, experiment);
  RandomState random(arguments.seed);
  std::vector<Tensor> values = {Tensor(arguments.length.value_or(kLength))};
  const Expr steps = tensor("steps", {}, DType::kInt64);
  std::vector<Expr> states;
  for (const Shared* state : {&machine.visible_random(), &machine.hidden_random()}) {
    const Shape shape = state->type().known_shape();
    values.push_back(mrg_state_of(random, shape.back()));
    states.push_back(tensor(state == &machine.visible_random() ? "visible_random" : "hidden_random",
                            {shape[0], shape[1]}, DType::kInt32));
  }
  const Expr roll = machine.generate(steps, 1, arguments.gibbs.value_or(kGibbsSteps), states[0], states[1]).visible;
  return function({steps, states[0], states[1]}, {Out(roll)}, {},
                  function_options(experiment.compiler, "sample"))(values)[0];
}

// ---- from the probability of each key
// ---------------------------------------------------------------------------------

// From the keys of a step to the logits of those of the next one.
Function step_of(const Model& model, const Experiment& experiment, int64_t keys) {
  const Expr now = tensor("keys", {1, 1, keys}, model.dtype());
  ModelPass pass = model.pass({now}, Phase::kGeneration);
  const TrainedOutput of = outputs_of(experiment).front();
  const ModelOutput output = pass.model_output(of.layer);
  const Dims& dims = output.value.dims();
  const bool fits = output.is_sequence && output.link != ModelOutput::Link::kSoftmax &&
                    of.objective->name() == BinaryCrossentropy::Options::kName && dims.size() == 2 && dims[1].is(keys);
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

Tensor drawn_by_key(const Model& model, const Experiment& experiment, int64_t keys, const SampleArguments& arguments,
                    const std::string& weights) {
  Function step = step_of(model, experiment, keys);
  RandomState random(arguments.seed);
  const int64_t steps = arguments.length.value_or(kLength);
  Tensor roll = Tensor::zeros(DType::kFloat64, {steps, 1, keys}), now = Tensor::zeros(model.dtype(), {1, 1, keys});
  std::vector<double> sounds(static_cast<size_t>(keys));
  for (int64_t t = -kLeadIn; t < steps; ++t) {
    const Tensor logits = step({now})[0];
    if (first_non_finite(logits))
      throw UserError(Message{.what = str(weights, ": the model gives numbers that are not finite"),
                              .expected = "weights of a run that did not diverge"});
    for (int64_t key = 0; key < keys; ++key) {
      const double logit = logits.as_double(key), temperature = arguments.temperature;
      sounds[static_cast<size_t>(key)] =
          temperature == 0 ? logit > 0 : random.uniform(0, 1) < 1 / (1 + std::exp(-logit / temperature));
    }
    if (t >= 0) std::copy(sounds.begin(), sounds.end(), roll.data<double>() + t * keys);
    now = Tensor::of(sounds, {1, 1, keys}).cast(model.dtype());
  }
  return roll;
}

}  // namespace

bool gives_piano_rolls(const Experiment& experiment) {
  return experiment.data.is<PianoRollsConfig>() || machine_of(experiment);
}

std::string sample_piano_roll(const LoadedExperiment& loaded, const SampleArguments& arguments,
                              const std::string& weights) {
  const bool has_machine = machine_of(loaded.experiment);
  if (!arguments.start.empty()) refuse_option("--start", "the run's model gives piano rolls, which no text begins");
  if (has_machine && arguments.temperature != 1)
    refuse_option("--temperature", "an rnn_rbm draws its steps from a chain");
  if (!has_machine && arguments.gibbs) refuse_option("--gibbs", "the run's model has no layer of type rnn_rbm");
  const Experiment experiment = step_by_step(loaded.experiment, kWhat);
  FloatXScope floatx(experiment.compiler.floatX);
  const int64_t keys = keys_of(experiment, weights);
  const Model model = stepping_model(experiment, {keys}, 0, weights, kWhat);
  return text_of(has_machine ? drawn_by_machine(model, experiment, arguments)
                             : drawn_by_key(model, experiment, keys, arguments, weights),
                 keys);
}

}  // namespace thtrain
