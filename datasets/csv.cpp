#include "datasets/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/base/escape.h"
#include "datasets/categories.h"
#include "datasets/csv_records.h"
#include "datasets/csv_refusals.h"
#include "datasets/csv_roles.h"
#include "datasets/csv_text.h"
#include "datasets/line_rows.h"
#include "datasets/memory.h"

namespace thtrain {

namespace {

class CsvReader {
 public:
  CsvReader(const std::string& path, const CsvOptions& options) : options_(options), records_(path, options) {
    record_.path = path;
  }

  CsvTable read() {
    for (bool first = true; records_.next(); first = false) {
      record_.line = records_.line();
      if (first) begin();
      if (!first || !record_.has_header) row();
    }
    if (rows_ == 0) {
      throw file_error(record_.path, "the table has no rows", "a line for each example",
                       record_.has_header ? "a header and no lines after it" : "an empty file");
    }
    if (!missing_.empty() && !options_.keep_missing) throw missing_values(record_, missing_, first_missing_, options_);
    if (!options_.header && !record_.has_header) check_first_label();
    return table();
  }

  CsvColumns columns() {
    if (!records_.next())
      throw file_error(record_.path, "the table has no rows", "a line for each example", "an empty file");
    find_header();
    return {record_.names, record_.has_header};
  }

 private:
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  /// What the cells of a column of x are: by the first one that is there.
  enum class Kind { kUnknown, kNumbers, kTexts };
  /// A column of x.
  struct Feature {
    size_t column;
    Kind kind = Kind::kUnknown;
    bool is_named = false;  // as one of categories: any cell is one
    CategoryList categories = CategoryList();
    int64_t first_text = 0;  // line
  };
  const std::vector<std::string>& cells() const { return records_.cells(); }
  std::optional<double> number_in(std::string_view cell) const { return thtrain::number_in(cell, options_.decimal); }
  /// Is there one column of labels, which may be text?
  bool has_label() const { return roles_.label.has_value(); }
  int64_t feature_count() const { return std::ssize(features_); }

  CsvTable table() {
    const std::vector<std::string>& names = record_.names;
    CsvTable out{.columns = names,
                 .named = record_.has_header,
                 .may_lack_header = may_lack_header_,
                 .classes = classes_.names()};
    sort_categories(out.categories);
    if (stays_)
      out.source = std::make_shared<const LineRows>(records_.file(), std::move(starts_), feature_count(), parser());
    out.x = stays_ ? outline(DType::kFloat64, {rows_, feature_count()}) : x_.rows(0, rows_);
    if (has_label()) {
      out.label_at = roles_.label;
      out.label = record_.has_header ? str('"', names[*roles_.label], '"') : names[*roles_.label];
    }
    for (size_t i = names.size(); i-- > 0;) {
      if (roles_.of[i] == CsvRole::kFeature) continue;
      out.columns.erase(out.columns.begin() + static_cast<std::ptrdiff_t>(i));
      out.other_columns.insert(out.other_columns.begin(), i);
    }
    for (size_t i : roles_.several) out.targets.push_back(names[i]);
    out.lines = std::move(line_of_row_);
    if (roles_.weight) out.weights = Tensor::of(weights_, {rows_});
    if (!roles_.several.empty())
      out.y = Tensor::of(y_, {rows_, std::ssize(roles_.several)});
    else if (!has_label() || options_.skip_label)
      out.y = Tensor::empty(DType::kInt64, {0});
    else
      out.y = text_labels_ ? Tensor::of(class_of_row_, {rows_}) : Tensor::of(y_, {rows_});
    return out;
  }

  /// A text above labels that are numbers names their column.
  void check_first_label() const {
    const std::vector<std::string>& names = classes_.names();
    const bool has_numbers = names.size() > 1 && std::all_of(names.begin() + 1, names.end(),
                                                             [&](const std::string& name) { return number_in(name); });
    if (!options_.classes.empty() || !has_numbers || number_in(names[0])) return;
    throw text_above_labels(record_, names[0]);
  }

  /// From numbers in the order in which the texts came to codes in the order of the sorted ones.
  void sort_categories(std::vector<std::vector<std::string>>& out) {
    for (size_t j = 0; j < features_.size(); ++j) {
      Feature& feature = features_[j];
      out.push_back(feature.categories.sorted());
      if (feature.kind != Kind::kTexts || feature.categories.is_closed()) continue;
      const std::vector<int64_t> codes = feature.categories.codes();
      double* x = x_.data<double>() + j;
      for (int64_t i = 0; !stays_ && i < rows_; ++i, x += feature_count())
        if (!std::isnan(*x)) *x = static_cast<double>(codes[static_cast<size_t>(*x)]);
      feature.categories = CategoryList(out.back());
    }
  }

  /// The cells at the beginning of the line that are whole numbers and nothing else, as number_in reads them: `line` is
  /// what is left, without data at the end. How many they are.
  static size_t take_whole_numbers(std::string_view& line, char delimiter, const std::vector<bool>& is_taken,
                                   double*& out) {
    constexpr std::ptrdiff_t kMostDigits = 15;  // exact in float64
    size_t column = 0;
    const char *at = line.data(), *const end = at + line.size();
    while (delimiter != ' ' && column < is_taken.size()) {
      const char* next = at;
      int64_t whole = 0;
      while (next < end && *next >= '0' && *next <= '9' && next - at <= kMostDigits)
        whole = 10 * whole + (*next++ - '0');
      if (next == at || next - at > kMostDigits || (next < end && *next != delimiter)) break;
      if (is_taken[column++]) *out++ = static_cast<double>(whole);
      at = next + 1;
      if (next < end) continue;
      line = {};
      return column;
    }
    line.remove_prefix(static_cast<size_t>(at - line.data()));
    return column;
  }

  /// What takes the numbers of x from the text of a record as row() does.
  LineRows::Parse parser() const {
    std::vector<bool> is_taken;
    std::vector<const Feature*> feature_of;
    auto features = std::make_shared<const std::vector<Feature>>(features_);
    for (CsvRole role : roles_.of) is_taken.push_back(role == CsvRole::kFeature);
    for (size_t j = 0; bool taken : is_taken) feature_of.push_back(taken ? &(*features)[j++] : nullptr);
    bool has_texts = std::any_of(features_.begin(), features_.end(), [](const Feature& f) { return is_text(f); });
    return [delimiter = records_.delimiter(), is_taken, features, feature_of, has_texts, decimal = options_.decimal,
            keeps = options_.keep_missing](std::string_view text, double* out) {
      std::string_view line = text.substr(0, record_length(text, delimiter));
      size_t column = has_texts ? 0 : take_whole_numbers(line, delimiter, is_taken, out);
      bool is_good = true;
      if (line.data() == nullptr) return column == is_taken.size();
      const size_t open = for_each_cell(line, delimiter, [&](std::string_view cell) {
        if (column < is_taken.size() && is_taken[column]) {
          const std::optional<double> value = value_of(*feature_of[column], cell, decimal);
          is_good = is_good && (value || (keeps && is_missing_value(cell)));
          *out++ = value.value_or(kMissing);
        }
        ++column;
      });
      return is_good && open == std::string_view::npos && column == is_taken.size();
    };
  }
  static bool is_text(const Feature& feature) { return feature.kind == Kind::kTexts; }
  static std::optional<double> value_of(const Feature& feature, std::string_view cell, char decimal) {
    if (is_text(feature)) {
      const int64_t code = feature.categories.find(std::string(cell));
      return code < 0 ? std::nullopt : std::optional(static_cast<double>(code));
    }
    const std::optional<double> value = thtrain::number_in(cell, decimal);
    return value && std::isfinite(*value) ? value : std::nullopt;
  }

  /// 0, 1, 2 and so on: what pandas calls columns without names.
  static bool counts_from_zero(const std::vector<double>& numbers) {
    constexpr size_t kFewest = 3;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] != static_cast<double>(i)) return false;
    return numbers.size() >= kFewest;
  }

  void find_header() {
    record_.first_line = records_.line();
    std::vector<double> numbers;
    for (const std::string& cell : cells())
      if (const std::optional<double> number = number_in(cell)) numbers.push_back(*number);
    if (!options_.header && counts_from_zero(numbers)) throw numbered_columns(record_, cells());
    record_.has_header = options_.header.value_or(numbers.empty());
    may_lack_header_ = !options_.header && counts_on();
    for (size_t i = 0; i < cells().size(); ++i)
      record_.names.push_back(record_.has_header ? cells()[i] : std::to_string(i + 1));
  }

  /// Whole numbers, each one more than that before it: what programs name columns without names.
  bool counts_on() const {
    constexpr size_t kFewest = 3;
    std::optional<double> before;
    for (const std::string& cell : cells()) {
      const std::optional<double> number = number_in(cell);
      if (!number || *number != std::floor(*number) || (before && *number != *before + 1)) return false;
      before = number;
    }
    return cells().size() >= kFewest;
  }

  /// The first record decides the number of columns, their names, and what each is read for.
  void begin() {
    find_header();
    roles_ = csv_roles(record_.path, record_.names, record_.has_header, record_.first_line, options_);
    record_.label = options_.skip_label ? std::nullopt : roles_.label;
    find_features();
    if (features_.empty()) {
      const bool is_one = record_.names.size() == 1;
      throw file_error(record_.path,
                       is_one ? "the table has one column, and that is the label's"
                              : "all columns of the table are those of labels and weights",
                       "columns of numbers to learn from besides it",
                       str("line ", record_.first_line, ": ", excerpt(trimmed(records_.text()))),
                       is_one ? delimiter_hint(trimmed(records_.text())) : "");
    }
    make_room();
  }

  void find_features() {
    for (size_t i = 0; i < roles_.of.size(); ++i) {
      if (roles_.of[i] != CsvRole::kFeature) continue;
      Feature& feature = features_.emplace_back(Feature{.column = i});
      const size_t j = features_.size() - 1;
      if (options_.categories && j < options_.categories->size()) {
        feature.categories = CategoryList((*options_.categories)[j]);
        feature.kind = feature.categories.is_closed() ? Kind::kTexts : Kind::kNumbers;
      } else if (roles_.is_category[i]) {
        feature.is_named = true;
        feature.kind = Kind::kTexts;
      }
    }
  }

  void make_room() {
    constexpr uint64_t kBytesOfLine = 3 * sizeof(double);  // its number, its begin in the file, its label
    const int64_t most_rows = count_lines(records_.file()) - (record_.has_header ? 1 : 0);
    const auto lines = static_cast<uint64_t>(most_rows);
    const auto bytes = lines * static_cast<uint64_t>(feature_count()) * options_.bytes_per_number;
    const bool is_too_large = options_.memory_limit != 0 && bytes > options_.memory_limit;
    stays_ = is_too_large && options_.may_stay;
    if (is_too_large && !stays_) {
      throw file_error(
          record_.path, "the table does not fit in memory",
          str("at most ", bytes_text(static_cast<double>(options_.memory_limit))),
          str(bytes_text(static_cast<double>(bytes)), ": ", most_rows, " lines of ", feature_count(), " numbers"),
          "data.memory_limit sets the limit");
    }
    if (lines * kBytesOfLine > usable_memory() / 2)
      throw file_error(record_.path, "the lines and labels of the table do not fit in memory",
                       str("at most ", usable_memory() / 2 / kBytesOfLine, " lines"), str(most_rows));
    x_ = Tensor::empty(DType::kFloat64, {stays_ ? 1 : most_rows, feature_count()});
  }

  double number(size_t column) const {
    std::optional<double> value = number_in(cells()[column]);
    if (value && std::isfinite(*value)) return *value;
    refuse_number(column, value.has_value());
  }
  [[noreturn]] void refuse_number(size_t column, bool infinite) const {
    throw not_a_number({record_, column, cells()[column]}, infinite, options_, rows_ == 0 ? 0 : line_of_row_[0]);
  }

  /// Of x. A missing value is counted.
  double value(Feature& feature) {
    const std::string& cell = cells()[feature.column];
    std::optional<double> found;
    if (feature.kind != Kind::kTexts) {
      found = number_in(cell);
      if (found && std::isfinite(*found)) {
        feature.kind = Kind::kNumbers;
        return *found;
      }
    }
    if (is_missing_value(cell)) {
      if (missing_.empty()) first_missing_ = records_.line();
      missing_.resize(record_.names.size());
      ++missing_[feature.column];
      return kMissing;
    }
    const bool is_number = feature.kind == Kind::kNumbers || found || !options_.takes_text;
    if (is_number && feature.kind != Kind::kTexts) refuse_number(feature.column, found.has_value());
    return static_cast<double>(category(feature, cell));
  }

  int64_t category(Feature& feature, const std::string& cell) {
    const int64_t known = feature.categories.find(cell);
    if (known >= 0) return known;
    const CellLocation at{record_, feature.column, cell};
    if (feature.categories.is_closed()) throw unknown_category(at, feature.categories.names(), options_.keep_missing);
    if (!feature.is_named) {
      if (number_in(cell)) throw number_among_texts(at, feature.first_text);
      if (is_date(cell)) throw date_in_table(at);
      if (is_formatted_number(cell)) refuse_number(feature.column, false);
    }
    if (feature.categories.size() == options_.most_categories) throw too_many_categories(at, options_.most_categories);
    if (feature.kind == Kind::kUnknown) feature.first_text = records_.line();
    feature.kind = Kind::kTexts;
    return feature.categories.add(cell);
  }

  void row() {
    if (cells().size() != record_.names.size()) throw other_cell_count(record_, cells(), records_.last_line());
    if (!stays_ && rows_ == x_.dim(0)) throw changed_while_read(record_.path);
    line_of_row_.push_back(records_.line());
    if (stays_) starts_.push_back(records_.begin());
    double* out = x_.data<double>() + (stays_ ? 0 : rows_ * feature_count());
    for (Feature& feature : features_) *out++ = value(feature);
    if (roles_.weight) weights_.push_back(weight());
    for (size_t i : roles_.several) y_.push_back(number(i));
    if (has_label() && !options_.skip_label) label_of_row();
    ++rows_;
  }

  double weight() const {
    double value = number(*roles_.weight);
    if (value >= 0) return value;
    throw file_error(record_.path, str(record_.text(*roles_.weight), ": the weight is negative"), "0 or more",
                     cells()[*roles_.weight]);
  }

  void label_of_row() {
    const size_t label = *roles_.label;
    const std::string& cell = cells()[label];
    if (rows_ == 0) text_labels_ = classes_.is_closed() || !number_in(cell);
    if (cell.empty())
      throw file_error(record_.path, str(record_.text(label), ": the label is missing"), "a label in each row",
                       "an empty cell", "leave the line out");
    if (!text_labels_) {
      y_.push_back(number(label));
      return;
    }
    const int64_t found = classes_.find(cell);
    if (found < 0 && classes_.is_closed()) {
      throw CellLocation{record_, label, cell}.error("the label is not one of the training file's classes",
                                                     str("one of ", list_text(classes_.names())));
    }
    class_of_row_.push_back(found < 0 ? classes_.add(cell) : found);
  }

  const CsvOptions& options_;
  CsvRecords records_;
  CsvRecordLocation record_;  // of the record
  CsvRoles roles_;
  std::vector<Feature> features_;
  CategoryList classes_ = CategoryList(options_.classes);
  bool text_labels_ = false, stays_ = false, may_lack_header_ = false;
  int64_t rows_ = 0;
  Tensor x_;                      // one row of it where they stay in the file
  std::vector<uint64_t> starts_;  // of the records of the rows that stay
  std::vector<double> y_, weights_;
  std::vector<int64_t> class_of_row_, line_of_row_;
  std::vector<int64_t> missing_;  // values of each column; none where none is missing
  int64_t first_missing_ = 0;     // line
};

}  // namespace

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  return CsvReader(path, options).read();
}

CsvColumns read_csv_columns(const std::string& path, const CsvOptions& options) {
  return CsvReader(path, options).columns();
}

}  // namespace thtrain
