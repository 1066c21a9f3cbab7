#include "trainers/prediction_input.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "datasets/array_file.h"
#include "datasets/content.h"
#include "datasets/csv.h"
#include "datasets/npz.h"
#include "datasets/sources/csv.h"
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
      str(text(facts.columns), ", with or without ",
          facts.others.size() > 1 ? str("the ", facts.others.size(), " of labels and weights") : "the label's"),
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

DataArray read_table(const std::string& path, const Experiment& experiment, const TableFacts& facts) {
  const auto* source = experiment.data.get_if<CsvConfig>();
  CsvTable table = read_csv(path, options_for(path, source ? csv_options(*source) : CsvOptions{}, facts));
  auto text = std::make_shared<const TextRows>(TextRows{table.lines, table.columns, table.named});
  return {.raw = table.x, .origin = path, .text = text};
}

}  // namespace

DataArray read_prediction_input(const std::string& path, const Experiment& experiment, const TableFacts& facts) {
  using Format = ArrayFile::Format;
  if (!ArrayPath(path).name.empty()) return ArrayFile(path, Format::kNpy, {}).in_memory();
  Content content = content_of(InputFile(path).beginning());
  const bool is_packed_table =
      content == Content::kGzip && (experiment.data.is<CsvConfig>() || path.ends_with(".csv.gz"));
  if (content == Content::kIdx || (content == Content::kGzip && !is_packed_table))
    return ArrayFile(path, Format::kIdx, {}).in_memory();
  if (content == Content::kZip && path.ends_with(".npz")) return ArrayFile(path, Format::kNpy, {}).in_memory();
  bool named_as_table = experiment.data.is<CsvConfig>() && !path.ends_with(".npy");
  if ((content == Content::kText && !path.ends_with(".npy")) || path.ends_with(".csv") || is_packed_table ||
      (content != Content::kNpy && named_as_table))
    return read_table(path, experiment, facts);
  return ArrayFile(path, Format::kNpy, {}).in_memory();
}

}  // namespace thtrain
