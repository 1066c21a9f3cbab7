#include "cli/prediction_files.h"

#include <algorithm>
#include <functional>

#include "cli/text.h"
#include "compiler/base/file.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "reports/json.h"
#include "trainers/checkpoint.h"

namespace thtrain {

namespace {

// Readers may guess that other characters than commas separate cells.
std::string quoted(const std::string& text) {
  return csv_cell(text, "; \t");
}

std::string name_at(const std::vector<std::string>& names, int64_t number) {
  const bool has_name = number >= 0 && number < std::ssize(names);
  return has_name ? names[static_cast<size_t>(number)] : std::to_string(number);
}

std::string number_cell(const Tensor& numbers, int64_t position) {
  if (!is_float(numbers.dtype())) return std::to_string(numbers.as_int(position));
  const double value = numbers.as_double(position);
  return numbers.dtype() == DType::kFloat32 ? number_text(static_cast<float>(value)) : number_text(value);
}

/// A row of the table: an example, or a step of one.
struct Row {
  int64_t example, step;
};

struct Column {
  std::string name;
  std::function<std::string(const Row&)> cell;
};

/// Numbers of each row, in an array [n, ...] or by step [n, steps, ...].
struct RowNumbers {
  Tensor array;
  bool by_step;
  int64_t width() const {
    const int64_t rows = array.dim(0) * (by_step ? array.dim(1) : 1);
    return rows > 0 ? array.size() / rows : 0;
  }
  int64_t position(const Row& row, int64_t column) const {
    return (by_step ? row.example * array.dim(1) + row.step : row.example) * width() + column;
  }
};

class Table {
 public:
  Table(const PredictionFile& file) : file_(file) {
    for (const Prediction& one : file.outputs) by_step_ = by_step_ || one.by_step;
    add_id();
    add_targets();
    for (size_t k = 0; k < file.outputs.size(); ++k) add_output(file.outputs[k], file.names[k]);
  }

  void write(const std::string& path) const {
    AtomicFile out(path);
    auto line = [&](auto cell) { out.write(join(columns_, ",", cell) + '\n'); };
    line([](const Column& column) { return quoted(column.name); });
    const Prediction& first = *std::find_if(file_.outputs.begin(), file_.outputs.end(),
                                            [&](const Prediction& one) { return one.by_step == by_step_; });
    for (int64_t i = 0; i < first.probabilities.dim(0); ++i) {
      const int64_t steps = !by_step_                      ? 1
                            : file_.examples.has_lengths() ? file_.examples.length(i)
                                                           : first.probabilities.dim(1);
      for (int64_t step = 0; step < steps; ++step) line([&](const Column& column) { return column.cell({i, step}); });
    }
    out.commit();
  }

 private:
  void add_id() {
    columns_.push_back({"id", [this](const Row& row) {
                          const auto& files = file_.examples.x_array().files;
                          if (!files) return std::to_string(row.example);
                          return quoted(files->at(static_cast<size_t>(file_.examples.file_row(row.example))));
                        }});
    if (by_step_) columns_.push_back({"step", [](const Row& row) { return std::to_string(row.step); }});
  }

  void add_targets() {
    const Split& split = file_.examples;
    const Targets kind = split.targets();
    if (kind == Targets::kNone || (split.has_step_targets() && !by_step_)) return;
    const RowNumbers numbers{split.read_targets(0, split.size(), DType::kFloat64), split.has_step_targets()};
    if (kind == Targets::kLabelSequences) return add_label_sequences(numbers);
    for (int64_t j = 0; j < numbers.width(); ++j) {
      const bool is_class = kind == Targets::kClasses, is_label = kind == Targets::kLabels;
      const std::string name = is_label ? str("target[", name_at(file_.target_names, j), ']')
                               : j == 0 ? "target"
                                        : str("target", j + 1);
      columns_.push_back({name, [this, numbers, j, is_class](const Row& row) {
                            const int64_t at = numbers.position(row, j);
                            if (is_class) return quoted(name_at(file_.target_names, numbers.array.as_int(at)));
                            return number_cell(numbers.array, at);
                          }});
    }
  }

  void add_label_sequences(const RowNumbers& numbers) {
    columns_.push_back({"target", [this, numbers](const Row& row) {
                          std::vector<std::string> labels;
                          for (int64_t j = 0; j < numbers.width(); ++j)
                            if (int64_t label = numbers.array.as_int(numbers.position(row, j)); label >= 0)
                              labels.push_back(name_at(file_.target_names, label));
                          return quoted(join(labels, " "));
                        }});
  }

  void add_output(const Prediction& of, const std::vector<std::string>& names) {
    const bool is_only = file_.outputs.size() == 1 && !file_.is_layer;
    if (of.has_classes) {
      const RowNumbers classes{of.classes, of.by_step};
      columns_.push_back({is_only ? "class" : of.output, [classes, names](const Row& row) {
                            return quoted(name_at(names, classes.array.as_int(classes.position(row, 0))));
                          }});
      if (!file_.probabilities) return;
    }
    const bool decided = of.labels && !file_.probabilities;
    const RowNumbers numbers{decided ? *of.labels : of.probabilities, of.by_step};
    const bool are_named = of.has_classes || of.labels;
    const int64_t first = of.has_classes && numbers.width() == 1 ? 1 : 0;  // a single number is that of class 1
    for (int64_t j = 0; j < numbers.width(); ++j) {
      const std::string number = are_named ? name_at(names, first + j) : std::to_string(j);
      std::string name = are_named && is_only ? number
                         : is_only            ? (j == 0 ? "value" : str("value", j + 1))
                                              : str(of.output, '[', number, ']');
      if (!is_only && !are_named && !file_.is_layer && numbers.width() == 1) name = of.output;
      columns_.push_back(
          {name, [numbers, j](const Row& row) { return number_cell(numbers.array, numbers.position(row, j)); }});
    }
  }

  const PredictionFile& file_;
  bool by_step_ = false;
  std::vector<Column> columns_;
};

const char* name_of_numbers(const PredictionFile& file, const Prediction& of) {
  return file.is_layer ? "features" : of.has_classes || of.labels ? "probabilities" : "values";
}

}  // namespace

PredictionFormat prediction_format(const std::string& path) {
  if (path.ends_with(".npy")) return PredictionFormat::kNpy;
  if (path.ends_with(".npz")) return PredictionFormat::kNpz;
  if (path.ends_with(".csv")) return PredictionFormat::kCsv;
  throw UserError(
      Message{.what = "predict cannot write this kind of file",
              .expected = "--output with a name that ends in .npy, .npz (classes and probabilities) or .csv",
              .got = path});
}

void check_prediction_file(const PredictionFile& file, const std::string& path) {
  if (prediction_format(path) != PredictionFormat::kCsv) return;
  for (const Prediction& one : file.outputs) {
    if (one.probabilities.rank() <= (one.by_step ? 3u : 2u)) continue;
    throw UserError(Message{
        .what = str("a table cannot hold what the ", file.is_layer ? "layer " : "output ", one.output, " gives"),
        .expected = "--output with a name that ends in .npy or .npz",
        .got = str(path, ", for ", one.probabilities.type_text())});
  }
}

static void write_arrays(const PredictionFile& file, const std::string& path) {
  NamedArrays arrays;
  for (const Prediction& one : file.outputs) {
    const std::string prefix = file.outputs.size() > 1 ? one.output + "/" : "";
    if (one.has_classes) arrays.emplace_back(prefix + "classes", one.classes);
    if (one.labels) arrays.emplace_back(prefix + "labels", *one.labels);
    arrays.emplace_back(prefix + name_of_numbers(file, one), one.probabilities);
  }
  const Split& split = file.examples;
  if (split.targets() != Targets::kNone)
    arrays.emplace_back("targets", split.read_targets(0, split.size(), file.outputs.front().probabilities.dtype()));
  write_npz(path, arrays);
}

void write_predictions(const PredictionFile& file, const std::string& path) {
  const Prediction& first = file.outputs.front();
  switch (prediction_format(path)) {
    case PredictionFormat::kNpy:
      return write_npy(path, first.has_classes && !file.probabilities ? first.classes
                             : first.labels && !file.probabilities    ? *first.labels
                                                                      : first.probabilities);
    case PredictionFormat::kNpz:
      return write_arrays(file, path);
    case PredictionFormat::kCsv:
      return Table(file).write(path);
  }
}

std::string what_is_written(const PredictionFile& file, const std::string& path) {
  const Prediction& of = file.outputs.front();
  const std::string numbers = name_of_numbers(file, of);
  if (numbers != "probabilities") return numbers;
  const std::string decided = of.has_classes ? "classes" : "labels";
  const PredictionFormat format = prediction_format(path);
  const bool both =
      format == PredictionFormat::kNpz || (format == PredictionFormat::kCsv && file.probabilities && of.has_classes);
  return both ? decided + " and probabilities" : file.probabilities ? numbers : decided;
}

}  // namespace thtrain
