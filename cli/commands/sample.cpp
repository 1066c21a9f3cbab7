// `thtrain sample`: text, symbol after symbol, from a model that was trained to tell the next one, or a piano roll.
#include <filesystem>

#include "cli/command.h"
#include "cli/commands/sample.h"
#include "cli/load_experiment.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "trainers/sample_piano_roll.h"
#include "trainers/sample_text.h"
#include "trainers/table_facts.h"

namespace thtrain {

namespace {

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

void refuse_option(const std::string& option, const std::string& why) {
  throw UserError(
      Message{.what = str("thtrain sample: ", option, " has no use: ", why), .expected = str("no ", option)});
}

std::string text_of(const Tensor& roll) {  // [steps, keys]
  const int64_t steps = roll.dim(0), keys = roll.dim(1);
  std::string out = str("@ sample ", steps, ' ', keys, '\n');
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<int64_t> sounding;
    for (int64_t key = 0; key < keys; ++key)
      if (roll.as_double(step * keys + key) != 0) sounding.push_back(key);
    out += join(sounding, " ", [](int64_t key) { return std::to_string(key); }) + "\n";
  }
  return out;
}

std::string usable_weights(const LoadedExperiment& loaded, const SampleArguments& arguments) {
  std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  return weights;
}

// As the source piano_rolls reads it: "@ sample steps keys", and a line for each step with the keys that sound.
std::string piano_roll(const LoadedExperiment& loaded, const SampleArguments& arguments) {
  const std::string weights = usable_weights(loaded, arguments);
  const bool has_machine = has_generating_layer(loaded.experiment);
  if (!arguments.start.empty()) refuse_option("--start", "the run's model gives piano rolls, which no text begins");
  if (has_machine && arguments.temperature != 1)
    refuse_option("--temperature", "an rnn_rbm draws its steps from a chain");
  if (!has_machine && arguments.gibbs) refuse_option("--gibbs", "the run's model has no layer of type rnn_rbm");
  RollSampling how{.temperature = arguments.temperature, .seed = arguments.seed};
  how.length = arguments.length.value_or(how.length);
  how.gibbs_steps = arguments.gibbs.value_or(how.gibbs_steps);
  return text_of(sample_piano_roll(loaded.experiment, weights, how));
}

std::string text(const LoadedExperiment& loaded, const SampleArguments& arguments) {
  const std::vector<std::string> symbols = symbols_of(loaded);
  if (arguments.gibbs) refuse_option("--gibbs", "the run's model has no layer of type rnn_rbm");
  TextSampling how{
      .start = arguments.start, .temperature = arguments.temperature, .seed = arguments.seed, .start_name = "--start"};
  how.length = arguments.length.value_or(how.length);
  return sample_text(loaded.experiment, symbols, usable_weights(loaded, arguments), how) + "\n";
}

}  // namespace

// Writes text by a model that tells the next symbol of a sequence: standard output gets `start` and what the model
// goes on with. Of a model of piano rolls it gets one: sample_piano_roll(). UserError where the run's model tells no
// such thing.
static int run_sample(const SampleArguments& arguments) {
  LoadedExperiment loaded = load_run_to_use(arguments.run_dir, {});
  take_phase(loaded, arguments.phase);
  print_text(gives_piano_rolls(loaded.experiment) ? piano_roll(loaded, arguments) : text(loaded, arguments));
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
