// `thtrain sample`: text, symbol after symbol, from a model that was trained to tell the next one, or a piano roll.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/command.h"
#include "cli/commands/sample.h"
#include "cli/load_experiment.h"
#include "cli/piano_roll_sample.h"
#include "cli/run_hints.h"
#include "cli/step_by_step.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/random_state.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "datasets/sources/text.h"
#include "nn/layers/embedding.h"
#include "nn/layers/one_hot.h"
#include "trainers/outputs.h"
#include "trainers/program.h"
#include "trainers/table_facts.h"

namespace thtrain {

namespace {

constexpr int64_t kLength = 500;

// The texts of the symbols, which the run keeps as the names of its classes.
std::vector<std::string> symbols_of(const LoadedExperiment& loaded) {
  auto refuse = [&](const std::string& got, const std::string& hint = "") {
    throw UserError(
        Message{.what = str(loaded.run->path(), ": this run's model gives no text"),
                .expected = "a run of sequences whose classes have names, the symbols of a text; or of piano rolls",
                .got = got,
                .hint = hint});
  };
  std::vector<std::string> out;
  std::error_code ignored;
  if (!loaded.experiment.data->has_sequences()) refuse("examples that are no sequences");
  if (std::filesystem::exists(loaded.run->table(), ignored)) out = read_table_facts(loaded.run->table()).classes;
  if (out.empty())
    refuse("no names of classes", "data.class_names in the experiment gives them, in the order of the classes");
  return out;
}

// Does the model take the number of a symbol, and not a row of zeros with a one?
bool takes_numbers(const Experiment& experiment) {
  if (const auto* text = experiment.data.get_if<TextConfig>()) return !text->one_hot;
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  return std::any_of(layers.begin(), layers.end(), [&](const OneOf<LayerOptions>& layer) {
    const std::vector<std::string>& inputs = layer->inputs;
    const bool is_first =
        inputs.empty() ? &layer == &layers.front() : std::count(inputs.begin(), inputs.end(), "x") > 0;
    return is_first && (layer.is<Embedding::Options>() || layer.is<OneHot::Options>());
  });
}

Model model_of(const Experiment& experiment, size_t symbols, const std::string& weights) {
  const auto count = static_cast<int64_t>(symbols);
  return stepping_model(experiment, {takes_numbers(experiment) ? 1 : count}, count, weights,
                        "symbols, which are integers");
}

// From a symbol to the logits of the next one; the state of the layers goes on with each call.
Function step_of(const Model& model, const Experiment& experiment, size_t symbols) {
  const Expr symbol = tensor("symbol", {1, 1, model.input_shape()[0]}, model.dtype());
  ModelPass pass = model.pass({symbol}, Phase::kGeneration);
  const std::string layer = outputs_of(experiment).front().layer;
  const ModelOutput output = pass.model_output(layer);
  const Dims& dims = output.value.dims();
  const bool fits = output.is_sequence && output.link != ModelOutput::Link::kSigmoid && dims.size() == 2 &&
                    dims[1].is_known() && dims[1].value() >= static_cast<int64_t>(symbols);
  if (!fits)
    throw UserError(
        Message{.what = str("the output ", layer, " does not tell the next symbol of a text"),
                .expected = str("logits of ", symbols, " symbols at each step of a sequence: the layer softmax"),
                .got = str(output.is_sequence ? "at each step " : "of each sequence ", type_text(output.value)),
                .config = output.value.node().origin.config()});
  return function({symbol}, {Out(logits_of(output))}, pass.updates(), function_options(experiment.compiler, "sample"));
}

// What the model takes of a symbol: [1, 1, 1], or [1, 1, symbols].
Tensor step_input(const Model& model, size_t symbol, bool as_number) {
  Tensor out = Tensor::zeros(DType::kFloat64, {1, 1, model.input_shape()[0]});
  out.data<double>()[as_number ? 0 : symbol] = as_number ? static_cast<double>(symbol) : 1;
  return out.cast(model.dtype());
}

// The largest logit where the temperature is 0; else a draw with probabilities softmax(logits / temperature).
size_t next_symbol(const Tensor& logits, size_t symbols, double temperature, RandomState& random) {
  std::vector<double> weights(symbols);
  for (size_t k = 0; k < symbols; ++k) weights[k] = logits.as_double(static_cast<int64_t>(k));
  const auto largest = std::max_element(weights.begin(), weights.end());
  if (temperature == 0) return static_cast<size_t>(largest - weights.begin());
  const double most = *largest;
  double total = 0;
  for (double& weight : weights) total += weight = std::exp((weight - most) / temperature);
  double rest = random.uniform(0, total);
  for (size_t k = 0; k + 1 < symbols; ++k)
    if ((rest -= weights[k]) < 0) return k;
  return symbols - 1;
}

// The longest symbol at each place.
std::vector<size_t> symbols_in(const std::string& text, const std::vector<std::string>& symbols) {
  std::vector<size_t> out;
  for (size_t at = 0; at < text.size();) {
    size_t best = symbols.size();
    for (size_t k = 0; k < symbols.size(); ++k)
      if (!symbols[k].empty() && text.compare(at, symbols[k].size(), symbols[k]) == 0 &&
          (best == symbols.size() || symbols[k].size() > symbols[best].size()))
        best = k;
    if (best == symbols.size())
      throw UserError(Message{
          .what = "--start has a symbol that the model does not know",
          .expected = join(symbols, ", ", [](const std::string& symbol) { return str('"', printable(symbol), '"'); }),
          .got = str('"', excerpt(text.substr(at)), '"')});
    out.push_back(best);
    at += symbols[best].size();
  }
  return out;
}

}  // namespace

// Writes text by a model that tells the next symbol of a sequence: standard output gets `start` and what the model
// goes on with. Of a model of piano rolls it gets one: sample_piano_roll(). UserError where the run's model tells no
// such thing.
static int run_sample(const SampleArguments& arguments) {
  LoadedExperiment loaded = load_run_to_use(arguments.run_dir, {});
  take_phase(loaded, arguments.phase);
  if (gives_piano_rolls(loaded.experiment)) {
    const std::string weights = weights_of(loaded, arguments.weights);
    warn_of_first_weights(loaded, weights);
    print_text(sample_piano_roll(loaded, arguments, weights));
    return kDone;
  }
  const std::vector<std::string> symbols = symbols_of(loaded);
  const std::vector<size_t> start = symbols_in(arguments.start, symbols);
  if (arguments.gibbs)
    throw UserError(Message{.what = "thtrain sample: --gibbs has no use: the run's model has no layer of type rnn_rbm",
                            .expected = "no --gibbs"});
  const std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  const Experiment experiment = step_by_step(loaded.experiment, "text");
  FloatXScope floatx(experiment.compiler.floatX);
  const Model model = model_of(experiment, symbols.size(), weights);
  Function step = step_of(model, experiment, symbols.size());
  const bool as_number = takes_numbers(experiment);
  RandomState random(arguments.seed);
  std::string text;
  Tensor logits;
  auto write = [&](size_t symbol) {
    text += symbols[symbol];
    logits = step({step_input(model, symbol, as_number)})[0];
    if (first_non_finite(logits))
      throw UserError(Message{.what = str(weights, ": the model gives numbers that are not finite"),
                              .expected = "weights of a run that did not diverge"});
  };
  for (size_t symbol : start) write(symbol);
  for (int64_t i = 0; i < arguments.length.value_or(kLength); ++i)
    write(logits.rank() == 0 ? static_cast<size_t>(random.uniform(0, static_cast<double>(symbols.size())))
                             : next_symbol(logits, symbols.size(), arguments.temperature, random));
  print_text(text + "\n");
  return kDone;
}

static Command declare_sample(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<SampleArguments>();
  command.add_option("DIR", arguments->run_dir, "a run's folder")->required();
  add_phase(command, arguments->phase);
  add_weights(command, arguments->weights);
  command.add_option("--start", arguments->start, "text that is gone on with; without it a symbol that is drawn")
      ->type_name("TEXT ");  // "TEXT" alone stands for what has no name
  command
      .add_option("--length", arguments->length,
                  "how many symbols (500 unless given) or steps of a piano roll (200) are written")
      ->type_name("N")
      ->check(number_in("sample", "--length", int64_t{1}, int64_t{100'000'000}));
  command
      .add_option("--gibbs", arguments->gibbs, "steps of Gibbs sampling for each step of an rnn_rbm; 25 unless given")
      ->type_name("N")
      ->check(number_in("sample", "--gibbs", int64_t{1}, int64_t{1'000'000}));
  command
      .add_option("--temperature", arguments->temperature,
                  "logits are divided by it; 0: the most probable symbol; 1 unless given")
      ->type_name("T")
      ->check(number_in("sample", "--temperature", 0.0, 1000.0));
  command.add_option("--seed", arguments->seed, "of the drawing; 1 unless given")
      ->type_name("N")
      ->check(number_in("sample", "--seed", int64_t{0}, int64_t{4294967295}));
  return [arguments] { return run_sample(*arguments); };
}

CommandSpec sample_command() {
  return {"sample",
          "write text by a model of the next symbol, or a piano roll",
          {{"thtrain sample runs/chars-1", "500 symbols"},
           {"thtrain sample runs/chars-1 --start 'The ' --temperature 0.7", "what follows those, less daring"},
           {"thtrain sample runs/rnnrbm_jsb-1 --length 64", "a piano roll of 64 steps"}},
          declare_sample};
}

}  // namespace thtrain
