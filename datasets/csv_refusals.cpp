#include "datasets/csv_refusals.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "datasets/csv_text.h"

namespace thtrain {

std::string CsvRecordLocation::text(size_t column) const {
  return str("line ", line, ", column ", column + 1, has_header ? str(" (\"", names[column], "\")") : "");
}

UserError CellLocation::error(std::string_view what, std::string expected, std::string hint) const {
  return file_error(record.path, str(record.text(column), ": ", what), std::move(expected),
                    cell.empty() ? "an empty cell" : str("\"", excerpt(cell, 40), "\""), std::move(hint));
}

std::string CellLocation::listed_in(std::string_view key) const {
  return str("data.", key, " = [\"", excerpt(record.names[column], 40), "\"]");
}

static constexpr const char* kHeaderHint = "data.header = true takes the first line as the names of the columns";

/// Text is no mistake in the column of the labels: perhaps this is the one.
static std::string label_hint(const CellLocation& at) {
  const std::vector<std::string>& names = at.record.names;
  std::string name = at.column == 0                  ? "first"
                     : at.column + 1 == names.size() ? "last"
                     : at.record.has_header          ? names[at.column]
                                                     : "";
  return str("text may be in the labels' column only: data.label_column = ",
             name.empty() ? "\"NAME\"" : str('"', excerpt(name, 40), '"'));
}

// Of a number that is written in another way; "" of other cells.
static std::string format_hint(const CellLocation& at, const CsvOptions& options) {
  const std::string& cell = at.cell;
  const bool has_commas = options.decimal == ',';
  if (has_commas && number_in(cell))
    return str("data.decimal = \",\" reads decimals after a comma: ", cell, " has a point");
  std::string point = cell, english = cell;
  std::replace(point.begin(), point.end(), ',', '.');
  for (char& c : english)
    if (has_commas && (c == ',' || c == '.')) c = c == ',' ? '.' : ',';
  if (has_thousands(english)) {
    std::string joined = cell;
    std::erase(joined, has_commas ? '.' : ',');
    return str(
        "write ", joined,
        !has_commas && number_in(point) ? str(", or data.decimal = \",\" where the comma begins the decimals") : "");
  }
  if (!has_commas && point != cell && number_in(point)) return str("data.decimal = \",\" reads ", cell, " as ", point);
  if (!options.takes_text || !is_formatted_number(cell)) return "";
  return str("write the number alone; ", at.listed_in("category_columns"), " takes each text as a category");
}

static std::string number_hint(const CellLocation& at, bool infinite, const CsvOptions& options, int64_t first_label) {
  const CsvRecordLocation& record = at.record;
  if (at.cell.empty()) return "fill it, or leave the line out";
  if (std::string format = format_hint(at, options); !format.empty()) return format;
  const bool may_be_label = record.label.has_value() && !options.takes_text;
  if (record.line == record.first_line && !record.has_header && !infinite)
    return may_be_label ? str(kHeaderHint, ";\n", label_hint(at)) : kHeaderHint;
  if (record.label == at.column) return str("the first label, on line ", first_label, ", is a number");
  if (record.names.size() == 1) return delimiter_hint(at.cell);
  if (infinite) return "";
  if (is_missing_value(at.cell)) return "fill it, or leave the line out";
  if (first_label == 0 && may_be_label) return label_hint(at);
  return "";
}

UserError not_a_number(const CellLocation& at, bool infinite, const CsvOptions& options, int64_t first_label) {
  return at.error(infinite ? "not a finite number" : "not a number", "a finite number",
                  number_hint(at, infinite, options, first_label));
}

UserError number_among_texts(const CellLocation& at, int64_t first_text) {
  const bool may_be_header = first_text == at.record.first_line && !at.record.has_header;
  return at.error("a number in a column of texts", str("a text, as on line ", first_text),
                  str(may_be_header ? str(kHeaderHint, ";\n") : "", at.listed_in("category_columns"),
                      " takes each of its cells as a category"));
}

UserError date_in_table(const CellLocation& at) {
  return at.error(
      "a date or a time", "a number, or a text that is a category",
      str("write it as a number, such as the days since the first one;\n", at.listed_in("skip_columns"),
          " leaves the column out;\n", at.listed_in("category_columns"), " takes each of them as a category"));
}

UserError too_many_categories(const CellLocation& at, int64_t most) {
  return at.error(
      str("the column has more than ", most, " different texts"), str("at most ", most, ", since each is a category"),
      str("a column of names or numbers of examples says nothing of others: ", at.listed_in("skip_columns"),
          " leaves it out",
          most < 1'000'000 ? ";\ndata.categories = \"codes\" takes up to 1000000, for a layer \"embedding\"" : ""));
}

UserError unknown_category(const CellLocation& at, const std::vector<std::string>& known, bool may_be_missing) {
  return at.error("the text is not one of the training file's categories", str("one of ", list_text(known)),
                  may_be_missing ? "an empty cell counts as a missing value" : "");
}

UserError numbered_columns(const CsvRecordLocation& record, const std::vector<std::string>& cells) {
  return file_error(record.path,
                    str("line ", record.first_line, ": its numbers are 0, 1, 2 and so on, as pandas names columns"),
                    "data.header = true where they name the columns, or data.header = false where they are an example",
                    excerpt(join(cells, ", "), 80));
}

UserError text_above_labels(const CsvRecordLocation& record, const std::string& label) {
  return file_error(record.path, str("line ", record.first_line, ": the label is a text, and all others are numbers"),
                    "labels that are all numbers, or data.header = true where the line names the columns",
                    str('"', excerpt(label, 40), '"'));
}

UserError other_cell_count(const CsvRecordLocation& record, const std::vector<std::string>& cells, int64_t last_line) {
  const std::vector<std::string>& names = record.names;
  const bool is_joined = last_line > record.line;
  return file_error(record.path, str("line ", record.line, ": another number of cells than before"),
                    str(cells_text(names.size()), ", as on line ", record.first_line),
                    str(cells_text(cells.size()), is_joined ? str(", up to line ", last_line) : ""),
                    is_joined           ? "a quote joins these lines: is it closed where it should be?"
                    : names.size() == 1 ? delimiter_hint(names[0])
                    : cells.size() == 1 ? delimiter_hint(cells[0])
                                        : "");
}

UserError missing_values(const CsvRecordLocation& record, const std::vector<int64_t>& counts, int64_t first_line,
                         const CsvOptions& options) {
  constexpr size_t kMost = 20;
  int64_t total = 0;
  std::vector<std::string> texts;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string& name = record.names[i];
    if (counts[i] > 0)
      texts.push_back(str(counts[i], " in column ", record.has_header ? str('"', excerpt(name, 40), '"') : name));
  }
  const size_t more = texts.size() - std::min(texts.size(), kMost);
  texts.resize(texts.size() - more);
  return file_error(
      record.path, total == 1 ? "a value is missing" : str(total, " values are missing"),
      "a value in each cell of the columns to learn from",
      str(join(texts, ", "), more > 0 ? str(" and some in ", more, more == 1 ? " more column" : " more columns") : "",
          total == 1 ? "; it is" : "; the first is", " on line ", first_line),
      options.is_for_model ? "the model was trained without data.impute, which would fill them: leave the lines out"
                           : "data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out");
}

}  // namespace thtrain
