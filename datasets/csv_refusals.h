// What is wrong with a cell of a table, in words: where it is, what it is read for, and what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/base/file.h"
#include "datasets/csv.h"

namespace thtrain {

/// A record of a table.
struct CsvRecordLocation {
  std::string path;
  std::vector<std::string> names = {};  // of the columns, by the header, or "1", "2", ...
  bool has_header = false;
  int64_t line = 0, first_line = 0;  // of the record, and of the first one of the file
  std::optional<size_t> label = {};  // the column of labels that are read
  /// "line 3, column 2 ("b")".
  std::string text(size_t column) const;
};

struct CellLocation {
  const CsvRecordLocation& record;
  size_t column;
  const std::string& cell;
  UserError error(std::string_view what, std::string expected, std::string hint = "") const;
  /// "data.KEY = ["b"]".
  std::string listed_in(std::string_view key) const;
};

/// Of a cell that should be a finite number. `first_label`: the line of the first label, which is a number; 0 in the
/// first row.
UserError not_a_number(const CellLocation& at, bool infinite, const CsvOptions& options, int64_t first_label);
/// Of a column whose first text is on line `first_text`.
UserError number_among_texts(const CellLocation& at, int64_t first_text);
UserError date_in_table(const CellLocation& at);
UserError too_many_categories(const CellLocation& at, int64_t most);
UserError unknown_category(const CellLocation& at, const std::vector<std::string>& known, bool may_be_missing);
/// Of a first line whose numbers are 0, 1, 2 and so on.
UserError numbered_columns(const CsvRecordLocation& record, const std::vector<std::string>& cells);
/// Of a label in the first line that is a text, where all others are numbers.
UserError text_above_labels(const CsvRecordLocation& record, const std::string& label);
/// Of a record that ends on line `last_line`.
UserError other_cell_count(const CsvRecordLocation& record, const std::vector<std::string>& cells, int64_t last_line);
/// Of a table with missing values: their number in each column, and the first line that has one.
UserError missing_values(const CsvRecordLocation& record, const std::vector<int64_t>& counts, int64_t first_line,
                         const CsvOptions& options);

}  // namespace thtrain
