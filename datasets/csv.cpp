#include "datasets/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "datasets/file.h"

namespace thtrain {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<double> number_in(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class CsvReader {
 public:
  CsvReader(const std::string& path, const CsvOptions& options) : path_(path), options_(options) {}

  CsvTable read() {
    std::string text = read_file(path_);
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    bool first = true;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line_;
      if (line.empty()) continue;
      split(line);
      if (first) begin();
      if (!first || !has_header_) row();
      first = false;
    }
    if (rows_ == 0) throw file_error(path_, "the CSV file has no rows");
    CsvTable out{.columns = feature_names(), .classes = classes_};
    int64_t features = static_cast<int64_t>(names_.size()) - (has_label() ? 1 : 0);
    out.x = Tensor::of(x_, {rows_, features});
    if (!has_label())
      out.y = Tensor::empty(DType::kInt64, {0});
    else
      out.y = text_labels_ ? Tensor::of(class_of_row_, {rows_}) : Tensor::of(y_, {rows_});
    return out;
  }

 private:
  static constexpr size_t kNoLabel = static_cast<size_t>(-1);
  bool has_label() const { return label_ != kNoLabel; }

  /// Splits a line into cells_, without their quotes.
  void split(std::string_view line) {
    cells_.clear();
    size_t at = 0;
    while (true) {
      while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
      std::string cell;
      if (at < line.size() && line[at] == '"') {
        size_t opened = at++;
        while (true) {
          if (at >= line.size()) {
            throw file_error(path_, str("line ", line_, ", character ", opened + 1, ": the quote is not closed"));
          }
          if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
          if (line[at] == '"') ++at;
          cell += line[at++];
        }
        ++at;
        size_t comma = std::min(line.find(',', at), line.size());
        cell += trimmed(line.substr(at, comma - at));
        at = comma;
      } else {
        size_t comma = std::min(line.find(',', at), line.size());
        cell = trimmed(line.substr(at, comma - at));
        at = comma;
      }
      cells_.push_back(std::move(cell));
      if (at >= line.size()) return;
      ++at;
    }
  }

  /// The first line decides the number of columns, their names, and which one is the label.
  void begin() {
    first_line_ = line_;
    bool no_number = std::none_of(cells_.begin(), cells_.end(), [](const std::string& c) { return number_in(c); });
    has_header_ =
        options_.header == CsvOptions::Header::kYes || (options_.header == CsvOptions::Header::kFind && no_number);
    for (size_t i = 0; i < cells_.size(); ++i) names_.push_back(has_header_ ? cells_[i] : std::to_string(i + 1));
    const std::string& label = options_.label;
    if (label == "none") return;
    if (label == "first" || label == "last") {
      label_ = label == "first" ? 0 : names_.size() - 1;
      return;
    }
    auto found = std::find(names_.begin(), names_.end(), label);
    if (!has_header_ || found == names_.end()) {
      throw file_error(path_, str("there is no column \"", label, "\" for the labels"),
                       has_header_ ? str("one of ", join(names_, ", ")) : "first, last or none",
                       has_header_ ? "" : "a file without a header line");
    }
    label_ = static_cast<size_t>(found - names_.begin());
  }

  std::vector<std::string> feature_names() const {
    std::vector<std::string> out = names_;
    if (has_label()) out.erase(out.begin() + static_cast<std::ptrdiff_t>(label_));
    return out;
  }

  std::string place(size_t column) const {
    std::string name = has_header_ ? str(" (\"", names_[column], "\")") : "";
    return str("line ", line_, ", column ", column + 1, name);
  }

  double number(size_t column) const {
    const std::string& cell = cells_[column];
    std::optional<double> value = number_in(cell);
    if (value && std::isfinite(*value)) return *value;
    throw file_error(path_, str(place(column), ": not a number"), "a finite number",
                     cell.empty() ? "an empty cell" : str("\"", cell.substr(0, 40), "\""));
  }

  void row() {
    if (cells_.size() != names_.size()) {
      throw file_error(path_,
                       str("line ", line_, ", column ", std::min(cells_.size(), names_.size()) + 1,
                           ": another number of cells than before"),
                       str(names_.size(), " cells, as on line ", first_line_), str(cells_.size(), " cells"));
    }
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (i != label_) x_.push_back(number(i));
    }
    if (has_label()) label_of_row();
    ++rows_;
  }

  void label_of_row() {
    if (rows_ == 0) {
      text_labels_ = !options_.classes.empty() || !number_in(cells_[label_]);
      for (const std::string& name : options_.classes) add_class(name);
    }
    if (!text_labels_) {
      y_.push_back(number(label_));
      return;
    }
    const std::string& cell = cells_[label_];
    if (cell.empty()) throw file_error(path_, str(place(label_), ": the label is missing"));
    auto found = class_numbers_.find(cell);
    if (found == class_numbers_.end() && !options_.classes.empty()) {
      throw file_error(path_, str(place(label_), ": the label is not one of the classes"),
                       str("one of ", join(classes_, ", ")), str("\"", cell.substr(0, 40), "\""));
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
  int64_t line_ = 0, first_line_ = 0, rows_ = 0;
  std::vector<std::string> cells_, names_, classes_;
  std::map<std::string, int64_t> class_numbers_;
  size_t label_ = kNoLabel;
  bool has_header_ = false, text_labels_ = false;
  std::vector<double> x_, y_;
  std::vector<int64_t> class_of_row_;
};

}  // namespace

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  return CsvReader(path, options).read();
}

}  // namespace thtrain
