// Cells and lines of a table as text: numbers, blanks, delimiters, and words about them for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "datasets/csv.h"

namespace thtrain {

/// Without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

/// The whole text as a number, infinite ones and NaN among them; none where it is no number. "+1" is one. Where
/// decimals come after a comma, a number with a point is none.
std::optional<double> number_in(std::string_view text, char decimal = '.');

/// What is in the quotes that open at `at`, which moves behind them; false where they are not closed. A line end
/// between them is a LF.
bool quoted_cell(std::string_view line, size_t& at, std::string& cell);

/// Calls f(cell) for each cell of a record that is separated by `delimiter`, without blanks around it and without its
/// quotes; a cell is valid during the call. The first one begins at `from`. Returns where a quote is that is not
/// closed, else npos.
template <class F>
size_t for_each_cell(std::string_view line, char delimiter, F f, size_t from = 0) {
  auto is_blank = [&](char c) { return c == ' ' || (c == '\t' && delimiter != '\t'); };
  auto is_end = [&](char c) { return c == delimiter || (c == '\t' && delimiter == ' '); };
  if (delimiter == ' ') line = line.substr(0, line.find_last_not_of(" \t") + 1);
  std::string quoted;
  for (size_t at = from;; ++at) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const bool is_quoted = at < line.size() && line[at] == '"';
    const size_t opened = at;
    if (is_quoted && !quoted_cell(line, at, quoted)) return opened;
    size_t end = at;
    while (end < line.size() && !is_end(line[end])) ++end;
    const std::string_view rest = line.substr(at, end - at);
    if (is_quoted) quoted += rest.substr(0, rest.find_last_not_of(" \t") + 1);
    f(is_quoted ? std::string_view(quoted) : trimmed(rest));
    if (end >= line.size()) return std::string_view::npos;
    at = end;
  }
}

/// The bytes before the line end that ends the record which `text` begins with: one outside of quotes.
size_t record_length(std::string_view text, char delimiter);

/// Does a quote that is open end in this line?
bool closes_quote(std::string_view line);

/// Delimiters that may be between the cells of this line. A tab next to another delimiter is a blank.
std::vector<std::pair<CsvOptions::Delimiter, const char*>> possible_delimiters(std::string_view line);

/// Is this a number with commas between its thousands, such as 1,000 or -12,345.6?
bool has_thousands(std::string_view cell);

/// Is this a number in another form than number_in() takes: with commas, points or spaces between its thousands, with
/// decimals after the other sign, with a sign of a currency, or in per cent?
bool is_formatted_number(std::string_view cell);

/// Is this a date or a time in numbers, such as 2024-01-31, 31.1.2024, 1/31/24 or 12:30? More may follow.
bool is_date(std::string_view cell);

/// What tables have instead of a number that is not known: nothing, NA, N/A, n/a, na, #N/A, <NA>, NaN, NAN, nan,
/// NULL, null, None, none, ?, -, -- or a point.
bool is_missing_value(std::string_view cell);

/// For a table whose first line is one cell, or whose lines fall into other numbers of cells.
std::string delimiter_hint(std::string_view line);

/// "1 cell", "3 cells".
std::string cells_text(size_t count);

/// "a, b, c", the first of them where there are many.
std::string list_text(const std::vector<std::string>& names);

}  // namespace thtrain
