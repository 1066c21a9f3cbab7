#include "datasets/sources/csv.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "datasets/data_fields.h"
#include "datasets/locate.h"

namespace thtrain {

namespace {

constexpr const char* kOtherColumns = "the columns are not those of the training file";

/// A table without a header, or with a training file without one, has its columns in the order of the training file.
void check_columns(const std::string& path, const TableColumns& training, const CsvTable& table) {
  if (!training.columns_named || !table.named || table.columns == training.columns) return;
  auto [first, other] = std::mismatch(training.columns.begin(), training.columns.end(), table.columns.begin());
  auto text = [](auto name, auto begin) { return str("column ", name - begin + 1, " named \"", excerpt(*name), '"'); };
  throw file_error(path, kOtherColumns, text(first, training.columns.begin()), text(other, table.columns.begin()));
}

/// Before its cells are read: where columns are missing, the last one is not the label's.
void check_column_count(const std::string& path, const CsvOptions& options, size_t expected) {
  size_t count = read_csv_columns(path, options).names.size();
  if (count == expected) return;
  throw file_error(path, kOtherColumns,
                   str(expected, expected == 1 ? " column" : " columns", ", the label's among them"),
                   str(count, count == 1 ? " column" : " columns"));
}

std::shared_ptr<const TextRows> text_rows(const CsvTable& table, const std::vector<std::string>& columns) {
  return std::make_shared<const TextRows>(TextRows{table.lines, columns, table.named, table.label});
}

class TableReader {
 public:
  TableReader(const DatasetOptions& options, DType floatx, CsvOptions csv, Categories::As as)
      : options_(options), floatx_(floatx), room_(most_bytes_of(options)), csv_(std::move(csv)), as_(as) {
    csv_.has_label = options.targets != Targets::kNone;
    csv_.may_stay = true;
    // The table's numbers, and those of the examples made of it: each column may get an indicator of missing values.
    csv_.bytes_per_number = sizeof(double) + size_of(floatx) * (csv_.keep_missing ? 2 : 1);
  }

  SourceData read() {
    SourceData out{.train = *split("train"), .valid = split("valid"), .test = split("test")};
    if (!csv_.classes.empty() && !options_.class_names.empty())
      throw UserError({.what = str(out.train.x_array().origin, ": the classes have names in the table"),
                       .expected = "data.class_names only where labels are numbers",
                       .got = excerpt(join(csv_.classes, ", "), 80),
                       .config = position_of(options_, options_.class_names_where)});
    const bool are_labels = options_.targets == Targets::kLabels && columns_.columns_named;
    out.class_names = are_labels ? columns_.target_names : csv_.classes;
    out.classes = static_cast<int64_t>(csv_.classes.size());
    out.table = columns_;
    if (is_too_wide_) out.streamed = true;
    return out;
  }

 private:
  std::optional<Split> split(const std::string& set) {
    const DataPath* path = set == "train" ? &required_file(options_, set) : file_of(options_, set);
    if (!path) return std::nullopt;
    const std::string file = find_data_file(path->path, options_.config_folder, true, path->where);
    return located(path->where, [&] { return table_split(file, path->where, set == "train"); });
  }

  Split table_split(const std::string& file, const ConfigPosition& where, bool is_training) {
    csv_.memory_limit = std::max<uint64_t>(1, room_);
    if (!is_training) check_column_count(file, csv_, columns_.columns.size() + columns_.other_columns.size());
    const CsvTable table = read_csv(file, csv_);
    const Categories categories{as_, table.categories};
    if (!table.source) take_room(table, categories);
    if (is_training)
      learn_columns(table);
    else
      check_columns(file, columns_, table);
    if (options_.targets != Targets::kClasses && !table.classes.empty())
      throw file_error(file, "the target values are not numbers", "a column of numbers",
                       str("\"", table.classes[0], "\""));
    const auto text = text_rows(table, table.columns);
    auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = file, .where = where, .text = text}; };
    DataArray x = array(table.x), y = array(table.y);
    x.source = table.source;
    if (!table.targets.empty()) y.text = text_rows(table, table.targets);
    Split out(std::move(x), std::move(y), options_.targets, scale_or(options_, 1));
    if (!categories.empty()) out.set_categories(categories);
    if (!csv_.weight.empty()) out.set_weights(array(table.weights));
    return out;
  }

  /// In memory a text is a code. Examples that are too large with their categories are made when they are needed.
  void take_room(const CsvTable& table, const Categories& categories) {
    uint64_t bytes = static_cast<uint64_t>(table.x.size()) * csv_.bytes_per_number;
    for (int64_t j = 0; as_ == Categories::As::kOneHot && j < std::ssize(categories.names); ++j)
      bytes += static_cast<uint64_t>(table.x.dim(0) * std::ssize(categories.of(j))) * size_of(floatx_);
    is_too_wide_ = is_too_wide_ || bytes > room_;
    room_ -= std::min(room_, bytes);
  }

  void learn_columns(const CsvTable& table) {
    csv_.classes = table.classes;
    csv_.categories = table.categories;
    csv_.label_at = table.label_at;
    columns_ = {.columns = table.columns,
                .columns_named = table.named,
                .may_lack_header = table.may_lack_header,
                .label_at = table.label_at,
                .other_columns = table.other_columns,
                .target_names = table.targets};
  }

  const DatasetOptions& options_;
  DType floatx_;
  uint64_t room_;  // bytes that examples may fill
  CsvOptions csv_;
  Categories::As as_;
  bool is_too_wide_ = false;
  TableColumns columns_;  // of the training file
};

}  // namespace

ReadSource csv_reader(CsvOptions csv, Categories::As as) {
  return [csv = std::move(csv), as](const DatasetOptions& options, DType floatx) {
    return TableReader(options, floatx, csv, as).read();
  };
}

CsvOptions csv_options(const CsvConfig& c) {
  const char* labels = !c.label_columns.empty() ? "label_columns" : c.label_count > 0 ? "label_count" : "label_column";
  return {.delimiter = c.delimiter,
          .header = c.header,
          .label = c.label_column,
          .labels = c.label_columns,
          .label_count = static_cast<size_t>(c.label_count),
          .label_where = c.at(labels),
          .weight = c.weight_column.value_or(""),
          .weight_where = c.at("weight_column"),
          .skip = c.skip_columns,
          .skip_where = c.at("skip_columns"),
          .decimal = static_cast<char>(c.decimal),
          .takes_text = c.image_shape.empty(),
          .category_columns = c.category_columns,
          .category_where = c.at("category_columns"),
          .most_categories = c.categories == Categories::As::kOneHot ? 1000 : 1'000'000,
          .keep_missing = c.impute != Imputation::By::kNone};
}

void CsvConfig::fill(DatasetOptions& out) const {
  FileConfig::fill(out);
  out.impute = impute;
  out.impute_where = at("impute");
  out.read = csv_reader(csv_options(*this), categories);
}

std::vector<DataFile> CsvConfig::files() {
  std::vector<DataFile> out;
  add_file(out, "train", "train", train);
  add_file(out, "valid", "valid", valid);
  add_file(out, "test", "test", test);
  return out;
}

static void check_label_columns(const CsvConfig& c, Findings& findings) {
  bool several = !c.label_columns.empty() || c.label_count > 0;
  const char* key = c.label_columns.empty() ? "label_count" : "label_columns";
  if (!c.label_columns.empty() && c.label_count > 0)
    findings.add({.what = "data.label_columns and data.label_count are both given",
                  .expected = "one of them",
                  .config = c.at("label_count")});
  else if (several && c.label_column != "last")
    findings.add({.what = str("data.label_column and data.", key, " are both given"),
                  .expected = "one of them",
                  .config = c.at("label_column")});
  else if (several && c.target == Targets::kClasses)
    findings.add({.what = str("data.", key, " are no classes"),
                  .expected = "data.target = \"values\" or \"labels\"",
                  .got = "data.target = \"classes\"",
                  .config = c.at(key),
                  .hint = "data.label_column names the one column of the class"});
}

void CsvConfig::describe(Fields<CsvConfig>& f) {
  f.about(
      "Tables of numbers and categories in text files, which may be gzipped: [data.md](data.md#tables). Paths are "
      "looked "
      "for as those of `npy`.");
  f.field("train", &CsvConfig::train).required().help("File of the training examples, one in each line.");
  f.field("valid", &CsvConfig::valid).help("File of the validation examples.");
  f.field("test", &CsvConfig::test).help("File of the test examples.");
  f.field("label_column", &CsvConfig::label_column)
      .help("Column of the label: its name in the header, `first` or `last`.");
  f.field("label_columns", &CsvConfig::label_columns)
      .help(
          "Instead of it, several columns of numbers, for `target = \"values\"` or `\"labels\"`: their names in the "
          "header, or their numbers from 1 in a table without one.");
  f.field("label_count", &CsvConfig::label_count)
      .range(at_least(0))
      .unit("columns")
      .help("The same as a number: so many columns at the end of each line.");
  f.field("weight_column", &CsvConfig::weight_column)
      .help(
          "Column of the examples' weights, 0 or more: how much each counts in the loss; its name in the header, or "
          "its "
          "number from 1 in a table without one.");
  describe_target(f);
  f.field("header", &CsvConfig::header)
      .help("Whether the first line names the columns. Not given: it does if none of its cells is a number.");
  using Delimiter = CsvOptions::Delimiter;
  f.choice("delimiter", &CsvConfig::delimiter,
           {{"auto", Delimiter::kAuto},
            {"comma", Delimiter::kComma},
            {"semicolon", Delimiter::kSemicolon},
            {"tab", Delimiter::kTab},
            {"space", Delimiter::kSpace}})
      .synonyms({"sep", "separator", "delim"})
      .help("The separator of cells; `auto` finds a comma, semicolon or tab in the first line.");
  f.choice("decimal", &CsvConfig::decimal, {{".", CsvConfig::Decimal::kPoint}, {",", CsvConfig::Decimal::kComma}})
      .help(
          "What decimals come after: `1.5` or `1,5`. After a comma, `auto` takes a semicolon or tab as the separator.");
  using As = Categories::As;
  f.choice("categories", &CsvConfig::categories, {{"one_hot", As::kOneHot}, {"codes", As::kCodes}})
      .synonyms({"encoding"})
      .help(
          "What becomes of a column of texts: an input for each of its categories, 1 or 0 (`one_hot`, at most 1,000 of "
          "a column), or one input, the number of the category from 0 on in sorted order (`codes`), such as a layer "
          "`embedding` takes. The categories are kept with the model.");
  f.field("category_columns", &CsvConfig::category_columns)
      .synonyms({"categorical", "categorical_columns"})
      .help(
          "Columns whose cells are categories though they are, or begin with, numbers or dates: their names in the "
          "header, or their numbers from 1 in a table without one.");
  f.field("skip_columns", &CsvConfig::skip_columns)
      .synonyms({"ignore_columns", "drop_columns", "drop"})
      .help("Columns that are not looked at, such as names and dates; named as those of `category_columns`.");
  using By = Imputation::By;
  f.choice("impute", &CsvConfig::impute,
           {{"none", By::kNone}, {"mean", By::kMean}, {"median", By::kMedian}, {"zero", By::kZero}})
      .help(
          "What fills missing values (an empty cell, `NA`, `NaN`, `?` and the like) in the columns to learn from: the "
          "mean or the median of the column's values in the training set, or 0; a missing text is no category, or with "
          "`codes` a further one. A column with missing values in the training set gets an indicator as a further "
          "input, 1 where the value is missing. Both are kept with the model. `none` refuses missing values.");
  describe_n_valid(f);
  f.field("scale", &CsvConfig::scale).range(above(0)).help("What the columns are multiplied by, the label's apart.");
  describe_fractions(f);
  describe_split(f);
  describe_streams(f);
  describe_image_shape(f);
  f.check([](const CsvConfig& c, Findings& findings) {
    check_files(c, findings);
    check_stratified(c, findings);
    check_label_columns(c, findings);
    auto refuse = [&](const char* key, const char* what) {
      findings.add({.what = what, .expected = "it without data.image_shape", .config = c.at(key)});
    };
    if (c.impute != By::kNone && !c.image_shape.empty()) refuse("impute", "data.impute fills no images");
    if (!c.category_columns.empty() && !c.image_shape.empty())
      refuse("category_columns", "data.category_columns names columns of images");
  });
}

Kind<DataConfig> csv_source() {
  return kind<CsvConfig, DataConfig>();
}

}  // namespace thtrain
