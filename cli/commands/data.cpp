// `thtrain data`: what an experiment's data is, and with --check whether all of it can be used.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "trainers/load_data.h"

namespace thtrain {

namespace {

struct DataArguments {
  ExperimentArguments experiment;
  std::string phase = {};  // "": the last one
  bool check = false;
  bool json = false;
};

/// One of the three sets, and what is in it.
struct SetFacts {
  const char* name;
  const Split* split;
  bool was_read = false;
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t kept = 0;                     // numbers of sparse examples
  std::vector<int64_t> histogram = {};  // examples of each class
  double mean() const {
    return sum / (static_cast<double>(split->is_sequence() ? split->step_count() : split->size()) *
                  static_cast<double>(element_count(split->step_shape())));
  }
};

Batch read_checked(const Split& split, int64_t begin, int64_t count, DType floatx) {
  if (!split.is_sparse()) {
    Batch out = split.read(begin, count, floatx);
    check_batch(split, out, begin);
    return out;
  }
  std::vector<int64_t> examples(static_cast<size_t>(count));
  std::iota(examples.begin(), examples.end(), begin);
  Batch out = split.read_sparse(examples, floatx);
  check_batch(split, out, examples);
  out.x = out.sparse.values;
  return out;
}

// A few MiB at a time.
void read_set(SetFacts& facts, DType floatx, int64_t classes) {
  const Split& split = *facts.split;
  int64_t elements = std::max<int64_t>(split.is_sparse() ? 1024 : element_count(split.input_shape()), 1);
  int64_t rows = std::max<int64_t>((int64_t{1} << 20) / elements, 1);
  facts.histogram.assign(static_cast<size_t>(classes), 0);
  for (int64_t begin = 0; begin < split.size(); begin += rows) {
    const int64_t count = std::min(rows, split.size() - begin);
    Batch batch = read_checked(split, begin, count, floatx);
    if (split.is_sparse()) facts.kept += batch.x.size();
    if (split.is_sparse() && batch.x.size() < count * element_count(split.input_shape())) {
      facts.low = std::min(facts.low, 0.0);
      facts.high = std::max(facts.high, 0.0);
    }
    if (split.is_sequence()) batch.x = steps_within(batch.x, batch.lengths);
    if (split.has_step_targets()) batch.y = steps_within(batch.y, batch.lengths);
    auto scan = [&](auto* values) {
      for (int64_t i = 0; i < batch.x.size(); ++i) {
        auto value = static_cast<double>(values[i]);
        facts.low = std::min(facts.low, value);
        facts.high = std::max(facts.high, value);
        facts.sum += value;
      }
    };
    if (floatx == DType::kFloat32)
      scan(batch.x.data<float>());
    else
      scan(batch.x.data<double>());
    if (split.targets() != Targets::kClasses && split.targets() != Targets::kLabelSequences) continue;
    for (int64_t i = 0; i < batch.y.size(); ++i) {
      if (batch.y.data<int64_t>()[i] < 0) continue;  // behind the end of a label sequence
      auto label = static_cast<size_t>(batch.y.data<int64_t>()[i]);
      if (label >= facts.histogram.size()) facts.histogram.resize(label + 1);
      ++facts.histogram[label];
    }
  }
  facts.was_read = true;
}

// "2,000 of 7 to 25 steps, of [7] each; 28,441 steps"
std::string sequences_text(const Split& split) {
  int64_t shortest = split.steps(), longest = 0;
  for (int64_t i = 0; i < split.size(); ++i) {
    shortest = std::min(shortest, split.length(i));
    longest = std::max(longest, split.length(i));
  }
  return str(count_text(split.size()), " of ", shortest == longest ? "" : str(shortest, " to "),
             count_text(longest, "step"), ", of ", shape_text(split.step_shape()), " each; ",
             count_text(split.step_count(), "step"));
}

// "float32[400, 12 steps, 3]": as many rows of the array as the set has.
std::string own_type_text(const DataArray& array, int64_t size, bool has_steps) {
  const Shape& shape = array.raw.shape();
  std::vector<std::string> lengths;
  for (size_t i = 0; i < shape.size(); ++i)
    lengths.push_back(str(i == 0 ? size : shape[i], i == 1 && has_steps ? " steps" : ""));
  return str(name_of(array.raw.dtype()), '[', join(lengths, ", "), ']');
}

std::string set_text(const SetFacts& facts) {
  const Split& split = *facts.split;
  auto type_of_array = [&](const DataArray& array, bool has_steps) {
    return str(own_type_text(array, split.size(), has_steps), ", ", array.origin);
  };
  std::vector<std::pair<std::string, std::string>> lines = {
      split.is_sequence() ? std::pair<std::string, std::string>("sequences", sequences_text(split))
                          : std::pair<std::string, std::string>(
                                "examples", str(count_text(split.size()), " of ", shape_text(split.input_shape()))),
      {"x", type_of_array(split.x_array(), split.is_sequence())}};
  if (split.targets() != Targets::kNone)
    lines.emplace_back("y", type_of_array(split.y_array(), split.has_step_targets()));
  if (split.has_lengths()) lines.emplace_back("lengths", type_of_array(split.lengths_array(), false));
  if (facts.was_read && split.is_sparse())
    lines.emplace_back("kept", str(count_text(facts.kept), " numbers, ",
                                   json_fixed(static_cast<double>(facts.kept) / static_cast<double>(split.size()), 1),
                                   " of an example; the others are 0"));
  if (facts.was_read)
    lines.emplace_back(
        "range", str(number_text(static_cast<float>(facts.low)), " to ", number_text(static_cast<float>(facts.high)),
                     ", mean ", json_fixed(facts.mean(), 6), " (scaled)"));
  else
    lines.emplace_back("range", "not read: it stays in its file; --check reads all of it");
  return str(facts.name, "\n", facts_text(lines));
}

// A row for each class, a column for each set.
std::string histogram_text(const std::vector<SetFacts>& sets, const std::vector<std::string>& names) {
  constexpr size_t kMost = 50;
  std::vector<std::vector<std::string>> rows = {{"label"}};
  size_t classes = 0;
  for (const SetFacts& set : sets) {
    if (!set.was_read) continue;
    rows[0].push_back(set.name);
    classes = std::max(classes, set.histogram.size());
  }
  for (size_t label = 0; label < std::min(classes, kMost); ++label) {
    rows.push_back({std::to_string(label)});
    for (const SetFacts& set : sets)
      if (set.was_read) rows.back().push_back(std::to_string(label < set.histogram.size() ? set.histogram[label] : 0));
    if (label < names.size()) rows.back().push_back(str("(", excerpt(names[label], 40), ")"));
  }
  if (classes == 0) return "";
  return table_text(rows, "") + (classes > kMost ? str("and ", classes - kMost, " more labels\n") : "");
}

// What is made of the columns of a table: a row for each that has categories, or an indicator of missing values.
std::string columns_text(const Dataset& data) {
  const Standardization* learned = data.standardization.get();
  if (!learned || !learned->is_of_table()) return "";
  const std::vector<int64_t>& indicated = learned->imputation.indicated;
  std::vector<std::pair<std::string, std::string>> lines;
  for (int64_t j = 0; j < std::ssize(data.columns); ++j) {
    std::vector<std::string> facts;
    if (learned->categories.has(j)) {
      const std::vector<std::string>& names = learned->categories.of(j);
      facts.push_back(
          str(names.size(), names.size() == 1 ? " category: " : " categories: ", excerpt(join(names, ", "), 60)));
    }
    if (std::find(indicated.begin(), indicated.end(), j) != indicated.end()) {
      const double fill = learned->imputation.fill[static_cast<size_t>(j)];
      facts.push_back(!learned->categories.has(j) ? str("missing values are ", number_text(static_cast<float>(fill)))
                      : learned->categories.as == Categories::As::kCodes
                          ? str("missing values have the code ", learned->categories.of(j).size())
                          : "with missing values");
    }
    if (!facts.empty()) lines.emplace_back(excerpt(data.columns[static_cast<size_t>(j)], 40), join(facts, "; "));
  }
  return lines.empty() ? "" : str("columns\n", facts_text(lines), "\n");
}

std::string categories_json(const Dataset& data) {
  JsonObject out;
  for (int64_t j = 0; j < std::ssize(data.columns); ++j)
    if (data.standardization->categories.has(j))
      out.add(data.columns[static_cast<size_t>(j)], data.standardization->categories.of(j));
  return out.line();
}

std::string set_json(const SetFacts& facts) {
  const Split& split = *facts.split;
  auto numbers = [](const auto& values) { return str('[', join(values, ", "), ']'); };
  JsonObject out;
  out.add("examples", split.size())
      .add_raw("shape", numbers(split.input_shape()))
      .add("x", split.x_array().raw.type_text())
      .add("x_file", split.x_array().origin);
  if (split.targets() != Targets::kNone)
    out.add("y", split.y_array().raw.type_text()).add("y_file", split.y_array().origin);
  if (split.is_sequence()) out.add("steps", split.step_count());
  if (split.has_lengths()) out.add("lengths_file", split.lengths_array().origin);
  if (facts.was_read)
    out.add("low", facts.low)
        .add("high", facts.high)
        .add("mean", facts.mean())
        .add_raw("labels", numbers(facts.histogram));
  return out.line();
}

}  // namespace

static int run_data(const DataArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  take_phase(loaded, arguments.phase);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  print_warnings(loaded.experiment, data);
  std::vector<SetFacts> sets;
  for (auto [name, split] : {std::pair("train", &data.train), {"valid", &data.valid}, {"test", &data.test}}) {
    if (split->size() == 0) continue;
    SetFacts& set = sets.emplace_back(SetFacts{.name = name, .split = split});
    if (arguments.check || !data.streamed) read_set(set, loaded.experiment.compiler.floatX, data.classes());
  }
  if (arguments.json) {
    JsonObject out;
    out.add("data", data.name)
        .add("classes", data.classes())
        .add("streamed", data.streamed)
        .add("checked", arguments.check || !data.streamed);
    for (const SetFacts& set : sets) out.add_raw(set.name, set_json(set));
    if (data.standardization && !data.standardization->categories.empty())
      out.add_raw("categories", categories_json(data));
    print_text(out.line() + "\n");
    return kDone;
  }
  std::string out =
      str(data.name, ": ", targets_text(data), data.streamed ? ", read while training" : ", in memory", "\n\n");
  for (const SetFacts& set : sets) out += set_text(set) + "\n";
  out += columns_text(data) + histogram_text(sets, data.class_names);
  if (arguments.check) out += "all of it was read: every value is finite, every label in range\n";
  print_text(out);
  return kDone;
}

static Command declare_data(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<DataArguments>();
  add_experiment(command, arguments->experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  add_phase(command, arguments->phase);
  command.add_flag("--check", arguments->check, "read every example, also of data that is larger than memory");
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_data(*arguments); };
}

CommandSpec data_command() {
  return {"data",
          "show the data of an experiment",
          {{"thtrain data lab.toml", "sizes, ranges, and examples of each class"},
           {"thtrain data lab.toml --check", "read every example"}},
          declare_data};
}

}  // namespace thtrain
