// Cells and lines of a table as text: numbers, blanks, delimiters, and words about them for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/csv.h"

namespace thtrain {

/// Without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

/// The whole text as a number, infinite ones and NaN among them; none where it is no number. "+1" is one.
std::optional<double> number_in(std::string_view text);

/// Delimiters that may stand between the cells of this line. A tab beside another delimiter is a blank.
std::vector<std::pair<CsvOptions::Delimiter, const char*>> possible_delimiters(std::string_view line);

/// Is this a number with commas between its thousands, such as 1,000 or -12,345.6?
bool has_thousands(std::string_view cell);

/// What tables have in the place of a number that is not known.
bool is_missing_value(std::string_view cell);

/// For a table whose first line is one cell, or whose lines fall into other numbers of cells.
std::string delimiter_hint(std::string_view line);

/// "1 cell", "3 cells".
std::string cells_text(size_t count);

/// "a, b, c", the first of them where there are many.
std::string list_text(const std::vector<std::string>& names);

}  // namespace thtrain
