// `thtrain predict`: a trained model's answers for the examples of a file.
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/prediction_files.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/png_folders.h"
#include "datasets/sources/text.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/image_data.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"
#include "trainers/prediction_input.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

struct PredictArguments {
  ExperimentArguments experiment;  // `config` may be a run folder
  std::string phase = {};          // "": the last one
  std::string weights = {};        // "": the run folder's
  std::string input = {};          // one of these two
  std::string part = {};           // of the experiment's data: "train", "valid", "test"
  std::string output = {};
  std::string lengths = {};    // file of the steps of each sequence; "": each has all
  std::string layer = {};      // whose features are written; "": what the model gives
  bool probabilities = false;  // into an .npy; an .npz gets both
};

// As the run remembers them, else as the data says.
TableFacts facts_of(const LoadedExperiment& loaded) {
  std::error_code ignored;
  const OneOf<DataConfig>& data = loaded.experiment.data;
  if (loaded.run && loaded.earlier_phase.empty() && std::filesystem::exists(loaded.run->table(), ignored))
    return read_table_facts(loaded.run->table());
  if (!data.is<CsvConfig>() && !data.is<PngFoldersConfig>() && !data.is<TextConfig>())
    return {.columns = {}, .classes = class_names_of(loaded.experiment, loaded.config_folder)};
  return table_facts(load_data(loaded.experiment, loaded.config_folder));
}

// What the model does with the columns of its table.
void add_facts_of(const std::string& weights, const Experiment& experiment, TableFacts& facts) {
  std::map<std::string, Tensor> arrays = read_weights(weights);
  facts.class_count = class_count_of(experiment, arrays);
  const auto kept = take_standardization(arrays, weights);
  if (!kept) return;
  facts.categories = kept->categories.names;
  facts.fills = !kept->imputation.empty();
  const size_t columns = facts.columns.size(), known = facts.categories.size();
  if (known != 0 && known != columns)
    throw UserError(Message{.what = str(weights, ": the weights are not of the table of this experiment"),
                            .expected = str("categories of ", columns, columns == 1 ? " column: " : " columns: ",
                                            excerpt(join(facts.columns, ", "), 200)),
                            .got = str("those of ", known)});
}

// Of other data, and of those whose lengths are in the overrides, which tell of the training data.
void check_lengths(const PredictArguments& arguments, const Experiment& experiment) {
  if (!arguments.lengths.empty() && !experiment.data->has_sequences())
    throw UserError(Message{.what = "thtrain predict: --lengths has no use: the model's examples are no sequences",
                            .expected = "no --lengths"});
  if (!arguments.lengths.empty() && arguments.input.empty())
    throw UserError(Message{.what = "thtrain predict: --lengths has no use without --input",
                            .expected = "no --lengths",
                            .hint = "the experiment says where the lengths of its own sequences are"});
  if (arguments.input.empty()) return;
  for (const std::string& word : arguments.experiment.overrides)
    for (const char* key : {"data.train_lengths", "data.valid_lengths", "data.test_lengths"})
      if (word.starts_with(str(key, '=')))
        throw UserError(Message{.what = str("thtrain predict: ", key, " has no effect"),
                                .expected = "--lengths with the file of the lengths of the sequences in --input",
                                .got = word});
}

void check_arguments(const PredictArguments& arguments, const Experiment& experiment) {
  if (arguments.input.empty() == arguments.part.empty())
    throw UserError(Message{.what = arguments.part.empty() ? "thtrain predict: --input or --part is missing"
                                                           : "thtrain predict: --part has no use with --input",
                            .expected = "--input FILE with examples, or --part of the experiment's own data"});
  check_lengths(arguments, experiment);
  if (!arguments.layer.empty()) require_layer(experiment, arguments.layer, "predict");
  if (!arguments.layer.empty() && arguments.probabilities)
    throw UserError(
        Message{.what = "thtrain predict: --probabilities has no use with --layer", .expected = "one of them"});
  const std::vector<OutputLossConfig>& several = experiment.loss.outputs;
  if (arguments.layer.empty() && prediction_format(arguments.output) == PredictionFormat::kNpy && several.size() > 1)
    throw UserError(Message{.what = "a .npy file holds one array, and the model has several outputs",
                            .expected = "--output with a name that ends in .npz or .csv",
                            .got = join(several, ", ", [](const OutputLossConfig& one) { return one.layer; })});
}

void check_output(const PredictArguments& arguments, const LoadedExperiment& loaded, const std::string& weights) {
  const std::string& output = arguments.output;
  if (!arguments.input.empty()) refuse_to_overwrite("--output", output, ArrayPath(arguments.input).file, "the input");
  if (!arguments.lengths.empty())
    refuse_to_overwrite("--output", output, ArrayPath(arguments.lengths).file, "the lengths");
  refuse_to_overwrite("--output", output, weights, "the weights");
  refuse_to_overwrite("--output", output, loaded);
}

// A file that cannot be read is told of before what is wrong with the weights.
void check_input(const PredictArguments& arguments) {
  std::error_code ignored;
  const std::string file = ArrayPath(arguments.input).file;
  if (!arguments.input.empty() && !std::filesystem::is_directory(file, ignored)) InputFile{file};
}

// Were they sequences of different lengths that the model was trained on, and none are given?
bool lacks_lengths(const Split& split, const Experiment& experiment) {
  return experiment.data->has_lengths() && !split.has_lengths();
}

// Infinite ones and NaN are refused. What fills missing values comes first, since the check finds them.
void check_examples(Split& split, const Experiment& experiment, const std::string& weights) {
  std::map<std::string, Tensor> arrays = read_weights(weights);
  const std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  if (kept && kept->is_of_table()) {
    if (split.x_array().text) split.set_categories(kept->categories);  // by which it was read
    check_standardization(*kept, split, weights);
    split.set_standardization(kept);
  }
  try {
    check_all(split, experiment.compiler.floatX);
  } catch (const UserError& error) {
    if (!lacks_lengths(split, experiment)) throw;
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    hint +=
        str(hint.empty() ? "" : ";\n", "--lengths FILE says where each sequence ends; what follows it may be anything");
    throw UserError(std::move(messages));
  }
}

void warn_of_lengths(const Split& split, const Experiment& experiment) {
  if (!lacks_lengths(split, experiment)) return;
  std::fprintf(stderr,
               "warning: the run was trained on sequences of different lengths; without --lengths every example has "
               "all %s\n",
               count_text(split.steps(), "step").c_str());
}

// The columns of the last weights say how many classes there are. Where these weights are not in the file, what is
// missing is told as eval tells it.
void check_names(const std::string& weights, const Experiment& experiment, const Split& examples) {
  std::map<std::string, Tensor> arrays = read_weights(weights);
  if (arrays.contains(experiment.model.layers.back()->name + "/W")) return;
  FloatXScope floatx(experiment.compiler.floatX);
  Shape shape = examples.input_shape();
  shape.insert(shape.begin(), examples.size());
  constexpr int64_t kAnyClasses = 2;
  take_standardization(arrays, weights);
  std::vector<std::string> unused;
  build_model(experiment, input_of_rows(experiment, shape), kAnyClasses).load(arrays, weights, {}, &unused);
}

// Scaled as the experiment says.
PredictionInput examples_of(const PredictArguments& arguments, const LoadedExperiment& loaded, TableFacts& facts,
                            const std::string& weights) {
  const Experiment& experiment = loaded.experiment;
  if (arguments.input.empty()) {
    const Dataset data = load_run_data(loaded, false);
    if (facts.classes.empty()) facts.classes = data.class_names;
    const Split& split = arguments.part == "train" ? data.train : arguments.part == "valid" ? data.valid : data.test;
    if (split.size() == 0)
      throw UserError(Message{.what = str("there are no ", arguments.part, " examples to predict"),
                              .expected = "--part with another part of the data, or --input FILE"});
    return {split};
  }
  PredictionInput out = read_prediction_input(arguments.input, arguments.lengths, experiment, facts,
                                              numbers_of_example(experiment, read_weights(weights)));
  check_examples(out.examples, experiment, weights);
  take_images(out.examples, experiment);
  return out;
}

// "  setosa 50, virginica 49": how many examples each class was given, where classes have names.
std::string counts_text(const Tensor& classes, const std::vector<std::string>& names) {
  std::vector<int64_t> counts(names.size());
  for (int64_t i = 0; i < classes.size(); ++i)
    if (auto c = static_cast<size_t>(classes.as_int(i)); c < counts.size()) ++counts[c];
  std::vector<std::string> parts;
  for (size_t c = 0; c < names.size(); ++c)
    if (counts[c] > 0) parts.push_back(str(excerpt(names[c], 40), ' ', count_text(counts[c])));
  return parts.empty() ? "" : str("  ", join(parts, ", "), "\n");
}

// The data's classes are not those of a column of the targets.
std::vector<std::vector<std::string>> names_of(const std::vector<Prediction>& all, const Experiment& experiment,
                                               const TableFacts& facts) {
  std::vector<std::vector<std::string>> out;
  const std::vector<OutputLossConfig> outputs = output_losses(experiment);
  for (size_t k = 0; k < all.size(); ++k)
    out.push_back(outputs[k].columns.empty() ? facts.classes : std::vector<std::string>());
  return out;
}

std::string summary_of(const PredictionFile& file, const PredictArguments& arguments, const std::string& weights,
                       const std::string& no_targets) {
  const Prediction& first = file.outputs.front();
  const std::string what = file.outputs.size() > 1
                               ? join(file.outputs, ", ", [](const Prediction& one) { return one.output; })
                               : what_is_written(file, arguments.output);
  std::string out =
      str(what, " of ", count_text(file.examples.size(), "example"), " written to ", printable(arguments.output), "\n");
  if (file.outputs.size() == 1 && first.has_classes && !first.by_step)
    out += counts_text(first.classes, file.names.front());
  if (!no_targets.empty()) out += str("no targets: ", no_targets, "\n");
  return str(out, "weights ", printable(weights), "\n");
}

}  // namespace

static int run_predict(const PredictArguments& arguments) {
  prediction_format(arguments.output);
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  take_phase(loaded, arguments.phase);
  const Experiment& experiment = loaded.experiment;
  check_arguments(arguments, experiment);
  const std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  check_output(arguments, loaded, weights);
  check_input(arguments);
  TableFacts facts = facts_of(loaded);
  if (!facts.columns.empty()) add_facts_of(weights, experiment, facts);
  PredictionInput input = examples_of(arguments, loaded, facts, weights);
  check_names(weights, experiment, input.examples);
  const Predictions found = predict_all(experiment, input.examples, weights, {arguments.layer, input.type});
  Split with_targets = input.examples;
  with_targets.set_standardization(nullptr);  // targets in the units of the data
  const PredictionFile file{.examples = with_targets,
                            .outputs = found.outputs,
                            .names = names_of(found.outputs, experiment, facts),
                            .target_names = facts.classes,
                            .probabilities = arguments.probabilities,
                            .is_layer = !arguments.layer.empty()};
  check_prediction_file(file, arguments.output);
  warn_of_lengths(input.examples, experiment);
  write_predictions(file, arguments.output);
  warn_of_unused_arrays(weights, found.unused_arrays);
  print_text(summary_of(file, arguments, weights, input.no_targets));
  return kDone;
}

static Command declare_predict(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<PredictArguments>();
  add_experiment(command, arguments->experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  add_phase(command, arguments->phase);
  command
      .add_option("--input", arguments->input,
                  "examples, as the data files have them: .npy, .npz[NAME], IDX, CSV, or a file or folder of the "
                  "experiment's own source")
      ->type_name("FILE");
  command
      .add_option("--part", arguments->part, "train, valid or test: the experiment's own examples, in place of a file")
      ->type_name("PART")
      ->check(one_of("predict", "--part", {"train", "valid", "test"}));
  command
      .add_option("--lengths", arguments->lengths,
                  "steps of each sequence, an .npy of integers; without it each has all that --input has room for")
      ->type_name("FILE");
  command
      .add_option("--output", arguments->output, "file to write: .npy or .csv for classes, .npz for probabilities too")
      ->required()
      ->type_name("FILE");
  add_weights(command, arguments->weights);
  command.add_option("--layer", arguments->layer, "write what this layer gives, instead of what the model gives")
      ->type_name("NAME");
  command.add_flag("--probabilities", arguments->probabilities,
                   "write probabilities instead of classes or labels; into a .csv file, next to the classes");
  return [arguments] { return run_predict(*arguments); };
}

CommandSpec predict_command() {
  return {
      "predict",
      "write what a model predicts for examples",
      {{"thtrain predict runs/lab-1 --input x.npy --output p.npy", "the class of each example"},
       {"thtrain predict runs/lab-1 --input x.npy --output p.npz", "classes and probabilities"},
       {"thtrain predict runs/lab-1 --part test --output p.csv", "a table: id, target and class of each test example"},
       {"thtrain predict runs/lab-1 --part test --layer hidden --output h.npy", "what the layer hidden gives"}},
      declare_predict};
}

}  // namespace thtrain
