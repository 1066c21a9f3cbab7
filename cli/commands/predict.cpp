// `thtrain predict`: a trained model's answers for the examples of a file.
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "datasets/array_file.h"
#include "datasets/dataset.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "datasets/sources/csv.h"
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
  std::string input, output;
  std::string lengths = {};    // file of the steps of each sequence; "": each has all
  bool probabilities = false;  // into an .npy; an .npz gets both
};

enum class Output { kNpy, kNpz, kCsv };

Output output_of(const std::string& path) {
  if (path.ends_with(".npy")) return Output::kNpy;
  if (path.ends_with(".npz")) return Output::kNpz;
  if (path.ends_with(".csv")) return Output::kCsv;
  throw UserError(
      Message{.what = "predict cannot write this kind of file",
              .expected = "--output with a name that ends in .npy, .npz (classes and probabilities) or .csv",
              .got = path});
}

// As the run remembers them, else as the data says.
TableFacts facts_of(const LoadedExperiment& loaded) {
  std::error_code ignored;
  if (loaded.run && loaded.earlier_phase.empty() && std::filesystem::exists(loaded.run->table(), ignored))
    return read_table_facts(loaded.run->table());
  if (!loaded.experiment.data.is<CsvConfig>())
    return {.columns = {}, .classes = class_names_of(loaded.experiment, loaded.config_folder)};
  return table_facts(load_data(loaded.experiment, loaded.config_folder));
}

// Of other data, and of those whose lengths are in the overrides, which tell of the training data.
void check_lengths(const PredictArguments& arguments, const Experiment& experiment) {
  if (!arguments.lengths.empty() && !experiment.data->has_sequences())
    throw UserError(Message{.what = "thtrain predict: --lengths has no use: the model's examples are no sequences",
                            .expected = "no --lengths"});
  for (const std::string& word : arguments.experiment.overrides)
    for (const char* key : {"data.train_lengths", "data.valid_lengths", "data.test_lengths"})
      if (word.starts_with(str(key, '=')))
        throw UserError(Message{.what = str("thtrain predict: ", key, " has no effect"),
                                .expected = "--lengths with the file of the lengths of the sequences in --input",
                                .got = word});
}

// Were they sequences of different lengths that the model was trained on, and none are given?
bool lacks_lengths(const PredictArguments& arguments, const Experiment& experiment) {
  return experiment.data->has_lengths() && arguments.lengths.empty();
}

Split split_of(const DataArray& input, const PredictArguments& arguments, const DataConfig& data) {
  if (!data.has_sequences()) return {input, {}, Targets::kNone, data.scale};
  Sequences sequences;
  if (!arguments.lengths.empty())
    sequences.lengths = ArrayFile(arguments.lengths, ArrayFile::Format::kNpy, {}).in_memory();
  return {input, {}, Targets::kNone, data.scale, sequences};
}

// As the data files have them, scaled as the experiment says, filled and standardized as the model was trained; with
// the lengths that are given. Infinite ones and NaN are refused.
Batch examples_of(const DataArray& input, const PredictArguments& arguments, const Experiment& experiment,
                  const std::string& weights) {
  Split split = split_of(input, arguments, *experiment.data);
  std::map<std::string, Tensor> arrays = read_weights(weights);
  const std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  auto standardize = [&] {
    check_standardization(*kept, split, weights);
    split.set_standardization(kept);
  };
  const bool is_of_table = kept && kept->is_of_table();
  if (is_of_table && input.text) split.set_categories(kept->categories);  // by which it was read
  if (is_of_table) standardize();  // before the check, which finds missing values
  try {
    check_all(split, experiment.compiler.floatX);
  } catch (const UserError& error) {
    if (!lacks_lengths(arguments, experiment)) throw;
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    hint +=
        str(hint.empty() ? "" : ";\n", "--lengths FILE says where each sequence ends; what follows it may be anything");
    throw UserError(std::move(messages));
  }
  take_images(split, experiment);
  if (kept && !is_of_table) standardize();
  return split.all(experiment.compiler.floatX);
}

void warn_of_lengths(const PredictArguments& arguments, const Experiment& experiment, const Tensor& x) {
  if (!lacks_lengths(arguments, experiment)) return;
  std::fprintf(stderr,
               "warning: the run was trained on sequences of different lengths; without --lengths every example has "
               "all %s\n",
               count_text(x.dim(1), "step").c_str());
}

// The columns of the last weights say how many classes there are. Where these weights are not in the file, what is
// missing is told as eval tells it.
void check_names(const std::string& weights, const Experiment& experiment, const Shape& examples) {
  std::map<std::string, Tensor> arrays = read_weights(weights);
  if (examples.empty() || arrays.contains(experiment.model.layers.back()->name + "/W")) return;
  FloatXScope floatx(experiment.compiler.floatX);
  const ModelInput input = input_of_rows(experiment, examples);
  constexpr int64_t kAnyClasses = 2;
  take_standardization(arrays, weights);
  build_model(experiment, input, kAnyClasses).load(arrays, weights);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",;\"\t ") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string class_name(const std::vector<std::string>& names, int64_t c) {
  return static_cast<size_t>(c) < names.size() ? names[static_cast<size_t>(c)] : std::to_string(c);
}

std::string cell_text(const Tensor& numbers, int64_t position) {
  const double value = numbers.as_double(position);
  return numbers.dtype() == DType::kFloat32 ? number_text(static_cast<float>(value)) : number_text(value);
}

// A line for each example: its class, and where they are wanted the probabilities of all.
void write_csv(const std::string& path, const Prediction& found, const std::vector<std::string>& names,
               bool probabilities) {
  AtomicFile file(path);
  std::string line = "class";
  int64_t classes = probabilities ? found.probabilities.dim(1) : 0;
  for (int64_t c = 0; c < classes; ++c) line += ',' + csv_cell(class_name(names, c));
  file.write(line + '\n');
  for (int64_t i = 0; i < found.classes.size(); ++i) {
    line = csv_cell(class_name(names, found.classes.as_int(i)));
    for (int64_t c = 0; c < classes; ++c) {
      line += ',' + cell_text(found.probabilities, i * classes + c);
    }
    file.write(line + '\n');
  }
  file.commit();
}

// "  setosa 50, virginica 49": how many examples each class was given, where classes have names.
std::string counts_text(const Tensor& classes, const std::vector<std::string>& names) {
  std::vector<int64_t> counts(names.size());
  for (int64_t i = 0; i < classes.size(); ++i)
    if (auto c = static_cast<size_t>(classes.as_int(i)); c < counts.size()) ++counts[c];
  std::vector<std::string> parts;
  for (size_t c = 0; c < names.size(); ++c)
    if (counts[c] > 0) parts.push_back(str(names[c], ' ', count_text(counts[c])));
  return parts.empty() ? "" : str("  ", join(parts, ", "), "\n");
}

int64_t width_of(const Tensor& rows) {
  return rows.dim(0) > 0 ? rows.size() / rows.dim(0) : 0;
}

// Of a model that gives values: a row for each example.
void write_values(const std::string& path, Output output, const Tensor& values) {
  if (output == Output::kNpy) return write_npy(path, values);
  if (output == Output::kNpz) return write_npz(path, {{"values", values}});
  AtomicFile file(path);
  const int64_t width = width_of(values);
  std::string line = "value";
  for (int64_t j = 1; j < width; ++j) line += str(",value", j + 1);
  file.write(line + '\n');
  for (int64_t i = 0; i < values.dim(0); ++i) {
    line.clear();
    for (int64_t j = 0; j < width; ++j) line += (j > 0 ? "," : "") + cell_text(values, i * width + j);
    file.write(line + '\n');
  }
  file.commit();
}

// Of several outputs, each by its name; `names` are those of the classes of each.
void write_outputs(const std::string& path, Output output, const std::vector<Prediction>& all,
                   const std::vector<std::vector<std::string>>& names, bool probabilities) {
  if (output == Output::kNpz) {
    NamedArrays arrays;
    for (const Prediction& one : all) {
      if (one.has_classes) arrays.emplace_back(one.output + "/classes", one.classes);
      arrays.emplace_back(one.output + (one.has_classes ? "/probabilities" : "/values"), one.probabilities);
    }
    return write_npz(path, arrays);
  }
  AtomicFile file(path);
  std::vector<std::string> line;
  auto end_line = [&] {
    file.write(join(line, ",") + '\n');
    line.clear();
  };
  // What is in the columns behind the class: numbers of the output, where they are wanted.
  auto numbers_of = [&](const Prediction& one) {
    return one.has_classes && !probabilities ? 0 : width_of(one.probabilities);
  };
  for (size_t k = 0; k < all.size(); ++k) {
    const Prediction& one = all[k];
    const int64_t width = numbers_of(one);
    if (one.has_classes || width == 1) line.push_back(one.output);
    for (int64_t j = 0; j < width && (one.has_classes || width > 1); ++j)
      line.push_back(csv_cell(str(one.output, '[', one.has_classes ? class_name(names[k], j) : str(j), ']')));
  }
  end_line();
  for (int64_t i = 0; i < all.front().probabilities.dim(0); ++i) {
    for (size_t k = 0; k < all.size(); ++k) {
      const Prediction& one = all[k];
      const int64_t width = numbers_of(one);
      if (one.has_classes) line.push_back(csv_cell(class_name(names[k], one.classes.as_int(i))));
      for (int64_t j = 0; j < width; ++j) line.push_back(cell_text(one.probabilities, i * width + j));
    }
    end_line();
  }
  file.commit();
}

// A table has a line for each example; what is given for each step of sequences has an axis more.
void check_table(const std::vector<Prediction>& all, Output output, const std::string& path) {
  for (const Prediction& one : all) {
    if (output != Output::kCsv || one.probabilities.rank() <= 2) continue;
    throw UserError(Message{.what = str("a table cannot hold what the output ", one.output, " gives"),
                            .expected = "--output with a name that ends in .npy or .npz",
                            .got = str(path, ", for ", one.probabilities.type_text())});
  }
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

}  // namespace

static int run_predict(const PredictArguments& arguments) {
  Output output = output_of(arguments.output);
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  take_phase(loaded, arguments.phase);
  check_lengths(arguments, loaded.experiment);
  if (const std::vector<OutputLossConfig>& several = loaded.experiment.loss.outputs;
      output == Output::kNpy && several.size() > 1)
    throw UserError(Message{.what = "a .npy file holds one array, and the model has several outputs",
                            .expected = "--output with a name that ends in .npz or .csv",
                            .got = join(several, ", ", [](const OutputLossConfig& one) { return one.layer; })});
  std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  refuse_to_overwrite("--output", arguments.output, ArrayPath(arguments.input).file, "the input");
  if (!arguments.lengths.empty())
    refuse_to_overwrite("--output", arguments.output, ArrayPath(arguments.lengths).file, "the lengths");
  refuse_to_overwrite("--output", arguments.output, weights, "the weights");
  refuse_to_overwrite("--output", arguments.output, loaded);
  TableFacts facts = facts_of(loaded);
  if (!facts.columns.empty()) {
    std::map<std::string, Tensor> arrays = read_weights(weights);
    if (const auto kept = take_standardization(arrays, weights)) facts.categories = kept->categories.names;
  }
  DataArray input = read_prediction_input(arguments.input, loaded.experiment, facts);
  const Batch examples = examples_of(input, arguments, loaded.experiment, weights);
  const Tensor& x = examples.x;
  check_names(weights, loaded.experiment, x.shape());
  std::vector<Prediction> all = predict_outputs(loaded.experiment, x, weights, input, examples.lengths);
  check_table(all, output, arguments.output);
  warn_of_lengths(arguments, loaded.experiment, x);
  if (all.size() > 1) {
    write_outputs(arguments.output, output, all, names_of(all, loaded.experiment, facts), arguments.probabilities);
    print_text(str(join(all, ", ", [](const Prediction& one) { return one.output; }), " of ",
                   count_text(x.dim(0), "example"), " written to ", arguments.output, "\nweights ", weights, "\n"));
    return kDone;
  }
  const Prediction& found = all.front();
  const std::vector<std::string> names = names_of(all, loaded.experiment, facts).front();
  if (!found.has_classes) {
    write_values(arguments.output, output, found.probabilities);
    print_text(str("values of ", count_text(x.dim(0), "example"), " written to ", arguments.output, "\nweights ",
                   weights, "\n"));
    return kDone;
  }
  bool both = output == Output::kNpz || (output == Output::kCsv && arguments.probabilities);
  if (output == Output::kNpz)
    write_npz(arguments.output, {{"classes", found.classes}, {"probabilities", found.probabilities}});
  else if (output == Output::kNpy)
    write_npy(arguments.output, arguments.probabilities ? found.probabilities : found.classes);
  else
    write_csv(arguments.output, found, names, arguments.probabilities);
  const char* what = both ? "classes and probabilities" : arguments.probabilities ? "probabilities" : "classes";
  print_text(str(what, " of ", count_text(x.dim(0), "example"), " written to ", arguments.output, "\n",
                 counts_text(found.classes, names), "weights ", weights, "\n"));
  return kDone;
}

static Command declare_predict(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<PredictArguments>();
  add_experiment(command, arguments->experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  add_phase(command, arguments->phase);
  command
      .add_option("--input", arguments->input, "examples, as the data files have them: .npy, .npz[NAME], IDX or CSV")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--lengths", arguments->lengths,
                  "steps of each sequence, an .npy of integers; without it each has all that --input has room for")
      ->type_name("FILE");
  command
      .add_option("--output", arguments->output, "file to write: .npy or .csv for classes, .npz for probabilities too")
      ->required()
      ->type_name("FILE");
  add_weights(command, arguments->weights);
  command.add_flag("--probabilities", arguments->probabilities,
                   "write probabilities into an .npy file, or next to the classes into a .csv file");
  return [arguments] { return run_predict(*arguments); };
}

CommandSpec predict_command() {
  return {"predict",
          "write what a model predicts for examples",
          {{"thtrain predict runs/lab-1 --input x.npy --output p.npy", "the class of each example"},
           {"thtrain predict runs/lab-1 --input x.npy --output p.npz", "classes and probabilities"}},
          declare_predict};
}

}  // namespace thtrain
