#include "datasets/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"
#include "datasets/content.h"
#include "datasets/csv_text.h"
#include "datasets/file.h"
#include "datasets/line_rows.h"
#include "datasets/text_lines.h"

namespace thtrain {

namespace {

using Delimiter = CsvOptions::Delimiter;

class CsvReader {
 public:
  CsvReader(const std::string& path, const CsvOptions& options)
      : path_(path), options_(options), file_(path), lines_(file_) {}

  CsvTable read() {
    check_content();
    bool first = true;
    for (std::string_view line; lines_.next(line);) {
      if (trimmed(line).empty()) continue;
      if (first) find_delimiter(line);
      split(line);
      check_utf8(line);
      if (first) begin(line);
      if (!first || !has_header_) row();
      first = false;
    }
    if (rows_ == 0) {
      throw file_error(path_, "the table has no rows", "a line for each example",
                       has_header_ ? "a header and no lines after it" : "an empty file");
    }
    if (!missing_.empty() && !options_.keep_missing)
      throw missing_values(path_, names_, has_header_, missing_, first_missing_);
    return table();
  }

  CsvColumns columns() {
    check_content();
    for (std::string_view line; lines_.next(line);) {
      if (trimmed(line).empty()) continue;
      find_delimiter(line);
      split(line);
      check_utf8(line);
      find_header();
      return {names_, has_header_};
    }
    throw file_error(path_, "the table has no rows", "a line for each example", "an empty file");
  }

 private:
  enum class Role { kFeature, kLabel, kWeight, kSkipped };
  static constexpr size_t kNoLabel = static_cast<size_t>(-1);
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  /// Is there one column of labels, which may be text?
  bool has_label() const { return label_ != kNoLabel; }
  bool has_several() const { return !several_.empty(); }
  int64_t feature_count() const { return std::count(roles_.begin(), roles_.end(), Role::kFeature); }

  void check_content() const {
    std::string beginning = file_.beginning();
    Content content = content_of(beginning);
    if (content == Content::kText || content == Content::kEmpty) return;
    std::string hint;
    if (content == Content::kGzip) hint = str("unpack it: gunzip ", path_);
    if (content == Content::kUtf16) hint = "save it in UTF-8";
    if (content == Content::kNpy || content == Content::kZip) hint = "source = \"npy\" reads .npy and .npz files";
    if (content == Content::kIdx) hint = "source = \"idx\" reads IDX files";
    throw file_error(path_, "not a table", "text: lines of numbers", content_text(beginning), hint);
  }

  CsvTable table() {
    CsvTable out{.columns = names_, .named = has_header_, .classes = classes_};
    if (stays_) out.source = std::make_shared<const LineRows>(path_, std::move(starts_), feature_count(), parser());
    out.x = stays_ ? outline(DType::kFloat64, {rows_, feature_count()}) : x_.rows(0, rows_);
    if (has_label()) {
      out.label_at = label_;
      out.label = has_header_ ? str('"', names_[label_], '"') : names_[label_];
    }
    for (size_t i = names_.size(); i-- > 0;) {
      if (roles_[i] == Role::kFeature) continue;
      out.columns.erase(out.columns.begin() + static_cast<std::ptrdiff_t>(i));
      out.other_columns.insert(out.other_columns.begin(), i);
    }
    for (size_t i : several_) out.targets.push_back(names_[i]);
    out.lines = std::move(line_of_row_);
    if (weight_) out.weights = Tensor::of(weights_, {rows_});
    if (has_several())
      out.y = Tensor::of(y_, {rows_, static_cast<int64_t>(several_.size())});
    else if (!has_label() || options_.skip_label)
      out.y = Tensor::empty(DType::kInt64, {0});
    else
      out.y = text_labels_ ? Tensor::of(class_of_row_, {rows_}) : Tensor::of(y_, {rows_});
    return out;
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

  /// What takes the numbers of x from a line as row() does.
  LineRows::Parse parser() const {
    std::vector<bool> is_taken;
    for (Role role : roles_) is_taken.push_back(role == Role::kFeature);
    return [delimiter = delimiter_, is_taken, keeps = options_.keep_missing](std::string_view line, double* out) {
      size_t column = take_whole_numbers(line, delimiter, is_taken, out);
      bool is_good = true;
      if (line.data() == nullptr) return column == is_taken.size();
      const size_t open = for_each_cell(line, delimiter, [&](std::string_view cell) {
        if (column < is_taken.size() && is_taken[column]) {
          const std::optional<double> value = number_in(cell);
          const bool is_there = value && std::isfinite(*value);
          is_good = is_good && (is_there || (keeps && is_missing_value(cell)));
          *out++ = is_there ? *value : kMissing;
        }
        ++column;
      });
      return is_good && open == std::string_view::npos && column == is_taken.size();
    };
  }

  void find_delimiter(std::string_view line) {
    Delimiter delimiter = options_.delimiter;
    if (delimiter == Delimiter::kAuto) {
      auto possible = possible_delimiters(line);
      if (possible.size() > 1) {
        throw file_error(path_, str("line ", lines_.number(), ": the delimiter is not clear"),
                         join(possible, " or ", [](auto& p) { return str("data.delimiter = \"", p.second, '"'); }),
                         excerpt(trimmed(line)));
      }
      delimiter = possible.empty() ? Delimiter::kComma : possible[0].first;
    }
    delimiter_ = delimiter == Delimiter::kSemicolon ? ';'
                 : delimiter == Delimiter::kTab     ? '\t'
                 : delimiter == Delimiter::kSpace   ? ' '
                                                    : ',';
  }

  /// Splits a line into cells_, without their quotes.
  void split(std::string_view line) {
    cells_.clear();
    const size_t open = for_each_cell(line, delimiter_, [&](std::string_view cell) { cells_.emplace_back(cell); });
    if (open == std::string_view::npos) return;
    throw file_error(path_, str("line ", lines_.number(), ", character ", open + 1, ": the quote is not closed"),
                     "a closing quote on the same line");
  }

  /// Names in another encoding would be written as they are, and taken for one another.
  void check_utf8(std::string_view line) const {
    if (first_not_utf8(line) == std::string_view::npos) return;
    size_t column = 0;
    while (column + 1 < cells_.size() && first_not_utf8(cells_[column]) == std::string_view::npos) ++column;
    throw file_error(path_, str("line ", lines_.number(), ", column ", column + 1, ": not text in UTF-8"), "UTF-8",
                     str("\"", excerpt(cells_[column], 40), "\""), "save the file in UTF-8");
  }

  void find_header() {
    bool no_number = std::none_of(cells_.begin(), cells_.end(), [](const std::string& c) { return number_in(c); });
    has_header_ = options_.header.value_or(no_number);
    for (size_t i = 0; i < cells_.size(); ++i) names_.push_back(has_header_ ? cells_[i] : std::to_string(i + 1));
  }

  /// The first line decides the number of columns, their names, and which one is the label.
  void begin(std::string_view line) {
    first_line_ = lines_.number();
    find_header();
    find_roles();
    if (feature_count() == 0) {
      throw file_error(path_,
                       names_.size() == 1 ? "the table has one column, and that is the label's"
                                          : "all columns of the table are those of labels and weights",
                       "columns of numbers to learn from besides it",
                       str("line ", first_line_, ": ", excerpt(trimmed(line))),
                       names_.size() == 1 ? delimiter_hint(trimmed(line)) : "");
    }
    int64_t most_rows = count_lines(file_) - (has_header_ ? 1 : 0);
    auto bytes = static_cast<uint64_t>(most_rows) * static_cast<uint64_t>(feature_count()) * options_.bytes_per_number;
    const bool is_too_large = options_.memory_limit != 0 && bytes > options_.memory_limit;
    stays_ = is_too_large && options_.may_stay;
    if (is_too_large && !stays_) {
      throw file_error(
          path_, "the table does not fit in memory",
          str("at most ", bytes_text(static_cast<double>(options_.memory_limit))),
          str(bytes_text(static_cast<double>(bytes)), ": ", most_rows, " lines of ", feature_count(), " numbers"),
          "data.memory_limit sets the limit");
    }
    x_ = Tensor::empty(DType::kFloat64, {stays_ ? 1 : most_rows, feature_count()});
  }

  void find_roles() {
    roles_.assign(names_.size(), Role::kFeature);
    for (size_t i : options_.skipped)
      if (i < roles_.size()) roles_[i] = Role::kSkipped;
    if (!options_.weight.empty()) {
      weight_ = named_column(options_.weight, "weights", options_.weight_where);
      roles_[*weight_] = Role::kWeight;
    }
    if (!options_.has_label) return;
    if (options_.labels.empty() && options_.label_count == 0) {
      find_label();
      take(label_, options_.label_where);
      return;
    }
    for (const std::string& name : options_.labels)
      several_.push_back(named_column(name, "labels", options_.label_where));
    if (options_.label_count > names_.size())
      throw UserError({.what = str(path_, ": there are not so many columns for the labels"),
                       .expected = str("at most ", names_.size(), ", as line ", first_line_, " has"),
                       .got = str(options_.label_count),
                       .config = options_.label_where});
    for (size_t i = names_.size() - options_.label_count; options_.label_count > 0 && i < names_.size(); ++i)
      several_.push_back(i);
    for (size_t i : several_) take(i, options_.label_where);
  }

  void take(size_t column, const ConfigPosition& where) {
    if (roles_[column] == Role::kFeature) {
      roles_[column] = Role::kLabel;
      return;
    }
    bool is_weight = roles_[column] == Role::kWeight;
    throw UserError(
        {.what = str(path_, ": column \"", names_[column], "\" is named twice"),
         .expected = is_weight ? "another column for the labels than for the weights" : "each column of labels once",
         .config = where});
  }

  /// A column by its name in the header, or by its number in a table without one.
  size_t named_column(const std::string& name, const char* what, const ConfigPosition& where) const {
    auto count = std::count(names_.begin(), names_.end(), name);
    if (count == 1) return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    throw UserError(
        {.what = str(path_, count == 0 ? ": there is no column \"" : str(": there are ", count, " columns \""), name,
                     count == 0 ? "\" for the " : "\"", count == 0 ? what : ""),
         .expected =
             has_header_ ? str("one of ", list_text(names_)) : str("a column's number, from 1 to ", names_.size()),
         .got = has_header_ ? "" : "a table whose first line is no header",
         .config = where,
         .hint = has_header_ ? "" : "data.header = true takes the names of the columns from the first line"});
  }

  void find_label() {
    const std::string& label = options_.label;
    auto count = has_header_ ? std::count(names_.begin(), names_.end(), label) : 0;
    if (count == 1) {
      label_ = static_cast<size_t>(std::find(names_.begin(), names_.end(), label) - names_.begin());
    } else if (label == "first" || label == "last") {
      label_ = label == "first" ? 0 : names_.size() - 1;
    } else if (!has_header_ && options_.label_at && *options_.label_at < names_.size()) {
      label_ = *options_.label_at;
    } else {
      Message message{.what = str(path_, ": there is no column \"", label, "\" for the labels"),
                      .expected = "first or last",
                      .config = options_.label_where};
      if (count > 1) message.what = str(path_, ": there are ", count, " columns \"", label, '"');
      if (has_header_)
        message.expected += str(", or one of ", list_text(names_));
      else
        message.got = "a table whose first line is no header";
      if (!has_header_) message.hint = "data.header = true takes the names of the columns from the first line";
      throw UserError(message);
    }
  }

  std::string location(size_t column) const {
    std::string name = has_header_ ? str(" (\"", names_[column], "\")") : "";
    return str("line ", lines_.number(), ", column ", column + 1, name);
  }

  double number(size_t column) const {
    std::optional<double> value = number_in(cells_[column]);
    if (value && std::isfinite(*value)) return *value;
    throw not_a_number(column, value.has_value());
  }

  /// Of x. A missing value is counted.
  double feature(size_t column) {
    std::optional<double> value = number_in(cells_[column]);
    if (value && std::isfinite(*value)) return *value;
    if (!is_missing_value(cells_[column])) throw not_a_number(column, value.has_value());
    if (missing_.empty()) first_missing_ = lines_.number();
    missing_.resize(names_.size());
    ++missing_[column];
    return kMissing;
  }

  UserError not_a_number(size_t column, bool infinite) const {
    const std::string& cell = cells_[column];
    std::string point = cell, hint;
    std::replace(point.begin(), point.end(), ',', '.');
    if (cell.empty()) {
      hint = "fill it, or leave the line out";
    } else if (has_thousands(cell)) {
      std::string joined = cell;
      std::erase(joined, ',');
      const bool may_be_decimals = number_in(point).has_value();
      hint = str("write ", joined, may_be_decimals ? str(", or ", point, " where the comma begins the decimals") : "");
    } else if (point != cell && number_in(point)) {
      hint = str("write ", point, ": decimals follow a point");
    } else if (lines_.number() == first_line_ && !has_header_ && !infinite) {
      hint = has_label() && !options_.skip_label
                 ? str("data.header = true takes the first line as the names of the columns;\n", label_hint(column))
                 : "data.header = true takes the first line as the names of the columns";
    } else if (column == label_) {
      hint = str("the first label, on line ", line_of_row_.at(0), ", is a number");
    } else if (names_.size() == 1) {
      hint = delimiter_hint(cell);
    } else if (!infinite && is_missing_value(cell)) {
      hint = "fill it, or leave the line out";
    } else if (!infinite && rows_ == 0 && has_label() && !options_.skip_label) {
      hint = label_hint(column);
    }
    return file_error(path_, str(location(column), infinite ? ": not a finite number" : ": not a number"),
                      "a finite number", cell.empty() ? "an empty cell" : str("\"", excerpt(cell, 40), "\""), hint);
  }

  /// Text is no mistake in the column of the labels: perhaps this is the one.
  std::string label_hint(size_t column) const {
    std::string name = column == 0 ? "first" : column + 1 == names_.size() ? "last" : has_header_ ? names_[column] : "";
    return str("text may be in the labels' column only: data.label_column = ",
               name.empty() ? "\"NAME\"" : str('"', excerpt(name, 40), '"'));
  }

  void row() {
    if (cells_.size() != names_.size()) {
      throw file_error(path_, str("line ", lines_.number(), ": another number of cells than before"),
                       str(cells_text(names_.size()), ", as on line ", first_line_), cells_text(cells_.size()),
                       names_.size() == 1   ? delimiter_hint(names_[0])
                       : cells_.size() == 1 ? delimiter_hint(cells_[0])
                                            : "");
    }
    if (!stays_ && rows_ == x_.dim(0)) throw changed_while_read(path_);
    line_of_row_.push_back(lines_.number());
    if (stays_) starts_.push_back(lines_.begin());
    double* out = x_.data<double>() + (stays_ ? 0 : rows_ * feature_count());
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (roles_[i] == Role::kFeature) *out++ = feature(i);
    }
    if (weight_) weights_.push_back(weight());
    for (size_t i : several_) y_.push_back(number(i));
    if (has_label() && !options_.skip_label) label_of_row();
    ++rows_;
  }

  double weight() const {
    double value = number(*weight_);
    if (value >= 0) return value;
    throw file_error(path_, str(location(*weight_), ": the weight is negative"), "0 or more", cells_[*weight_]);
  }

  void label_of_row() {
    if (rows_ == 0) {
      text_labels_ = !options_.classes.empty() || !number_in(cells_[label_]);
      for (const std::string& name : options_.classes) add_class(name);
    }
    const std::string& cell = cells_[label_];
    if (cell.empty())
      throw file_error(path_, str(location(label_), ": the label is missing"), "a label in each row", "an empty cell");
    if (!text_labels_) {
      y_.push_back(number(label_));
      return;
    }
    auto found = class_numbers_.find(cell);
    if (found == class_numbers_.end() && !options_.classes.empty()) {
      throw file_error(path_, str(location(label_), ": the label is not one of the training file's classes"),
                       str("one of ", list_text(classes_)), str("\"", excerpt(cell, 40), "\""));
    }
    class_of_row_.push_back(found == class_numbers_.end() ? add_class(cell) : found->second);
  }

  int64_t add_class(const std::string& name) {
    auto number = static_cast<int64_t>(classes_.size());
    classes_.push_back(name);
    class_numbers_.emplace(name, number);
    return number;
  }

  const std::string& path_;
  const CsvOptions& options_;
  InputFile file_;
  TextLines lines_;
  char delimiter_ = ',';
  int64_t first_line_ = 0, rows_ = 0;
  std::vector<std::string> cells_, names_, classes_;
  std::map<std::string, int64_t> class_numbers_;
  size_t label_ = kNoLabel;
  std::vector<Role> roles_;      // of the columns
  std::vector<size_t> several_;  // columns of numbers to learn, in the order of y
  std::optional<size_t> weight_;
  bool has_header_ = false, text_labels_ = false, stays_ = false;
  Tensor x_;                      // one row of it where they stay in the file
  std::vector<uint64_t> starts_;  // of the lines of the rows that stay
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
