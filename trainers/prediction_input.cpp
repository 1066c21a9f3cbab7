#include "trainers/prediction_input.h"

#include <algorithm>
#include <filesystem>

#include "compiler/base/escape.h"
#include "datasets/array_file.h"
#include "datasets/content.h"
#include "datasets/csv.h"
#include "datasets/npz.h"
#include "datasets/sources/coordinates.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/libsvm.h"
#include "datasets/sources/sparse.h"
#include "trainers/load_data.h"

namespace thtrain {

namespace {

UserError other_columns(const std::string& path, const TableFacts& facts, const CsvColumns& columns) {
  bool named = facts.named && columns.named;
  auto text = [&](const std::vector<std::string>& names) {
    return named ? excerpt(join(names, ", "), 200) : str(names.size(), names.size() == 1 ? " column" : " columns");
  };
  return file_error(
      path, "the columns are not those that the model was trained on",
      str(text(facts.columns), named ? ", in this order, " : ", ",
          facts.others.size() < 2 ? "with or without the label's"
          : named                 ? "with or without the others of the training table"
                  : str("or all ", facts.columns.size() + facts.others.size(), " of the training table")),
      text(columns.names),
      named || facts.label_at || facts.others.size() > 1 || columns.names.size() != facts.columns.size() + 1
          ? ""
          : "the run does not say which column was the label's: leave it out");
}

/// Where several columns are not those of examples, and the table has them too, or by name some of them: which they
/// are.
std::vector<size_t> other_columns_in(const std::string& path, const TableFacts& facts, const CsvColumns& columns,
                                     bool by_name) {
  const size_t most = facts.columns.size() + facts.others.size(), there = columns.names.size();
  if (there > most || (there < most && !by_name)) throw other_columns(path, facts, columns);
  std::vector<size_t> out;
  size_t known = 0;
  for (size_t i = 0; i < columns.names.size(); ++i) {
    bool is_other = by_name ? known == facts.columns.size() || columns.names[i] != facts.columns[known]
                            : std::find(facts.others.begin(), facts.others.end(), i) != facts.others.end();
    if (is_other)
      out.push_back(i);
    else
      ++known;
  }
  if (known != facts.columns.size()) throw other_columns(path, facts, columns);
  return out;
}

/// Which of the table's columns is the label's, if it has one.
CsvOptions options_for(const std::string& path, CsvOptions options, const TableFacts& facts) {
  CsvColumns columns = read_csv_columns(path, options);
  options.header = columns.named;
  options.has_label = false;
  options.weight = "";
  options.skip = options.category_columns = {};
  options.takes_text = false;  // but where the model has categories
  options.keep_missing = facts.fills;
  options.is_for_model = true;
  if (!facts.categories.empty()) options.categories = facts.categories;
  size_t known = facts.columns.size(), there = columns.names.size();
  bool by_name = facts.named && columns.named;
  if (known == 0 || (there == known && (!by_name || columns.names == facts.columns))) return options;
  if (facts.others.size() > 1) {
    options.skipped = other_columns_in(path, facts, columns, by_name);
    return options;
  }
  if (there != known + 1) throw other_columns(path, facts, columns);
  options.has_label = options.skip_label = true;
  if (by_name) {
    auto other = std::mismatch(facts.columns.begin(), facts.columns.end(), columns.names.begin()).second;
    std::vector<std::string> rest = columns.names;
    rest.erase(rest.begin() + (other - columns.names.begin()));
    if (rest != facts.columns) throw other_columns(path, facts, columns);
    options.label = *other;
  } else if (facts.label_at && !columns.named) {
    options.label_at = facts.label_at;
    options.label = "";  // no column's name
  } else if (options.label != "first" && options.label != "last") {
    throw other_columns(path, facts, columns);
  }
  return options;
}

/// Of the columns that are left out: are the labels among them?
bool has_labels(const std::string& path, const CsvOptions& options, const CsvOptions& own, const TableFacts& facts) {
  if (options.skip_label || options.skipped.empty()) return options.skip_label;
  const auto [names, named] = read_csv_columns(path, options);
  if (!facts.named || !named || !own.labels.empty()) return true;
  auto is_in = [](const auto& all, const auto& one) { return std::find(all.begin(), all.end(), one) != all.end(); };
  const bool is_first = own.label == "first";
  if (own.label_count == 0 && !is_first && own.label != "last") return is_in(names, own.label);
  for (size_t k = 0; k < std::max<size_t>(own.label_count, 1); ++k) {
    const size_t at = is_first ? k : names.size() - 1 - k;
    if (!is_in(options.skipped, at) || is_in(own.skip, names[at])) return false;
  }
  return true;
}

/// The same, with the labels.
CsvOptions with_labels(CsvOptions options, const DataConfig& data, const TableFacts& facts) {
  const bool are_numbers = !data.class_names.empty() || data.class_names_file;
  if (data.target == Targets::kClasses && !are_numbers) options.classes = facts.classes;
  options.has_label = true;
  options.skip_label = false;
  if (!options.skipped.empty()) options.label_at = facts.label_at;
  return options;
}

Split table_split(const std::string& path, const CsvTable& table, const DataConfig& data, Targets targets) {
  const auto array = [&](const Tensor& raw, const std::vector<std::string>& columns) {
    const auto text = std::make_shared<const TextRows>(TextRows{table.lines, columns, table.named});
    return DataArray{.raw = raw, .origin = path, .text = text};
  };
  DataArray y = array(table.y, table.targets.empty() ? table.columns : table.targets);
  return Split(array(table.x, table.columns), std::move(y), targets, data.scale);
}

PredictionInput read_table(const std::string& path, const Experiment& experiment, const TableFacts& facts) {
  const auto* source = experiment.data.get_if<CsvConfig>();
  const DataConfig& data = *experiment.data;
  const CsvOptions own = source ? csv_options(*source) : CsvOptions{}, options = options_for(path, own, facts);
  PredictionInput out;
  if (data.target != Targets::kNone && has_labels(path, options, own, facts)) {
    try {
      const CsvOptions labelled = with_labels(options, data, facts);
      const CsvTable table = read_csv(path, labelled);
      if (!table.classes.empty() && labelled.classes.empty())
        throw file_error(path, str("the label \"", excerpt(table.classes[0], 40), "\" is no number"), "", "");
      out.examples = table_split(path, table, data, data.target);
      Split known = out.examples;
      known.set_classes(data.target == Targets::kClasses ? facts.class_count : 0);
      check_targets(known, experiment.compiler.floatX);
      return out;
    } catch (const UserError& error) {  // also where the examples are at fault: then it comes again
      out.no_targets = error.messages().front().what;
    }
  }
  out.examples = table_split(path, read_csv(path, options), data, Targets::kNone);
  return out;
}

/// May a gzipped file be lines of text, not an IDX file?
bool may_be_packed_text(const std::string& path, const Experiment& experiment) {
  return experiment.data.is<CsvConfig>() || experiment.data.is<LibsvmConfig>() || path.ends_with(".csv.gz");
}

/// Is it a file of arrays?
bool holds_arrays(const std::string& path, const Experiment& experiment) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return false;
  if (path.ends_with(".npy") || !ArrayPath(path).name.empty()) return true;
  const Content content = content_of(InputFile(path).beginning());
  return content == Content::kNpy || content == Content::kIdx ||
         (content == Content::kGzip && !may_be_packed_text(path, experiment)) ||
         (content == Content::kZip && path.ends_with(".npz") && !experiment.data.is<CoordinatesConfig>() &&
          !experiment.data.is<SparseConfig>());
}

PredictionInput read_array(const std::string& path, const std::string& lengths, const DataConfig& data) {
  using Format = ArrayFile::Format;
  const bool is_idx = ArrayPath(path).name.empty() && !path.ends_with(".npy") && !path.ends_with(".npz") &&
                      content_of(InputFile(path).beginning()) != Content::kNpy;
  DataArray array = ArrayFile(path, is_idx ? Format::kIdx : Format::kNpy, {}).in_memory();
  PredictionInput out{.examples = {}, .type = array.raw.type_text()};
  if (!data.has_sequences()) {
    out.examples = Split(std::move(array), {}, Targets::kNone, data.scale);
    return out;
  }
  Sequences sequences;
  if (!lengths.empty()) sequences.lengths = ArrayFile(lengths, Format::kNpy, {}).in_memory();
  out.examples = Split(std::move(array), {}, Targets::kNone, data.scale, std::move(sequences));
  return out;
}

}  // namespace

PredictionInput read_prediction_input(const std::string& path, const std::string& lengths, const Experiment& experiment,
                                      const TableFacts& facts, int64_t numbers) {
  const DataConfig& data = *experiment.data;
  if (holds_arrays(path, experiment)) return read_array(path, lengths, data);
  if (!lengths.empty())
    throw UserError(Message{.what = "thtrain predict: --lengths has no use: the input is no array",
                            .expected = "no --lengths",
                            .got = path});
  if (std::optional<Split> own = data.read_examples(path, {facts.classes, numbers})) return {std::move(*own)};
  const bool is_text = content_of(InputFile(path).beginning()) == Content::kText;
  if (!is_text && !path.ends_with(".csv") && !may_be_packed_text(path, experiment))
    return read_array(path, lengths, data);
  return read_table(path, experiment, facts);
}

int64_t numbers_of_example(const Experiment& experiment, const std::map<std::string, Tensor>& weights) {
  if (!experiment.data->image_shape.empty()) return element_count(experiment.data->image_shape);
  for (const OneOf<LayerOptions>& layer : experiment.model.layers)
    if (auto found = weights.find(layer->name + "/W"); found != weights.end())
      return found->second.rank() == 2 ? found->second.dim(0) : 0;
  return 0;
}

int64_t class_count_of(const Experiment& experiment, const std::map<std::string, Tensor>& weights) {
  const auto found = weights.find(experiment.model.layers.back()->name + "/W");
  const bool is_matrix = found != weights.end() && found->second.rank() == 2;
  return is_matrix && experiment.loss.outputs.empty() ? std::max<int64_t>(2, found->second.dim(1)) : 0;
}

}  // namespace thtrain
