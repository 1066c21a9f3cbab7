// Tables of numbers in text files, with one column of labels or target values.
//
// Cells are separated by a comma, a semicolon, a tab or spaces, and may be in double quotes (two of them for one
// inside, no line ends: RFC 4180 but for that); spaces around a cell and empty lines are skipped; lines end with LF,
// CRLF or CR; a byte order mark is skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/data_array.h"

namespace thtrain {

struct CsvOptions {
  /// kAuto: the comma, semicolon or tab that is between the cells of the first line.
  enum class Delimiter { kAuto, kComma, kSemicolon, kTab, kSpace };
  Delimiter delimiter = Delimiter::kAuto;
  /// Not given: the first line is a header if none of its cells is a number.
  std::optional<bool> header = {};
  bool has_label = true;
  bool skip_label = false;  // its cells are not looked at, and there is no y
  /// The column of y: "first", "last", or its name in the header.
  std::string label = "last";
  /// Where given, instead of `label`: several columns of numbers, by their names in the header or by their numbers
  /// from 1; or the last columns, so many.
  std::vector<std::string> labels = {};
  size_t label_count = 0;
  ConfigPosition label_where = {};  // of what says it, for messages
  /// The column of the examples' weights: its name in the header, or its number from 1; "" where there is none.
  std::string weight = "";
  ConfigPosition weight_where = {};
  /// Columns that are not looked at: by their names as `weight`, or from 0; of those, labels and weights are taken.
  std::vector<std::string> skip = {};
  ConfigPosition skip_where = {};
  std::vector<size_t> skipped = {};
  char decimal = '.';  // before decimals: a point or a comma
  /// Columns of x may hold texts, which are categories: those whose first value is no number, and those of these names,
  /// whatever their cells are. No column has more than so many different texts.
  bool takes_text = false;
  std::vector<std::string> category_columns = {};
  ConfigPosition category_where = {};
  int64_t most_categories = 1000;
  /// Those that are known already (of the training file, or of a model): of each column of x its texts by code, none
  /// where it holds numbers. Another text is an error.
  std::optional<std::vector<std::vector<std::string>>> categories = {};
  /// Missing values (is_missing_value) in columns of x become NaN, and are not refused.
  bool keep_missing = false;
  bool is_for_model = false;  // that is trained: no key of the experiment changes what it takes
  /// The label's column, from 0, in a table without a header: where `label` is a name.
  std::optional<size_t> label_at = {};
  /// Classes that are known already (those of the training file). If any, another label is an error.
  std::vector<std::string> classes = {};
  /// Where not 0: the numbers of x may not take more bytes. Where they would, x stays in the file if it `may_stay`;
  /// UserError otherwise. `bytes_per_number` counts what is made of them later too.
  uint64_t memory_limit = 0;
  bool may_stay = false;
  uint64_t bytes_per_number = sizeof(double);
};

struct CsvTable {
  Tensor x = {};  // float64 [rows, columns without the label's], finite, or NaN where a value is missing, and codes of
                  // texts; lengths only where there is a `source`
  std::shared_ptr<const RowSource> source = {};  // of x, where it stayed in the file
  Tensor y = {};  // [rows]: float64 if the labels are numbers, else int64 classes; int64[0] without labels; float64
                  // [rows, columns] of several columns
  Tensor weights = {};                    // float64 [rows], 0 or more; of rank 0 where there is no column of them
  std::vector<std::string> columns = {};  // of x: the header's names, or "1", "2", ... as they are in the file
  bool named = false;                     // by a header
  /// No header was asked for or found, but the numbers of the first line count on: 0, 1, 2.
  bool may_lack_header = false;
  std::vector<std::vector<std::string>> categories = {};  // of each column of x, as Categories::names
  std::vector<std::string> classes = {};   // text labels in their order of appearance, which gives their number
  std::vector<int64_t> lines = {};         // of the rows, from 1
  std::optional<size_t> label_at = {};     // the label's column, from 0
  std::vector<size_t> other_columns = {};  // those that are not in x, from 0
  std::vector<std::string> targets = {};   // of y, where it has several columns: their names
  std::string label = {};                  // the same for messages: "\"kind\"" by the header, or "3"
};

/// The file may be gzipped, and quotes may hold line ends. The labels are text if the first one is not a number (iris:
/// "setosa"). UserError, each with line and column: a cell that is no finite number, a number or a date in a column of
/// texts, a line with another number of cells, an open quote, an unknown class or category, too many categories; also:
/// missing values, counted for each column, no such label column, a negative weight, no columns but the label's, no
/// rows, a delimiter that cannot be told, a file of another format or one that cannot be read.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

/// What the first line says of all columns, the label's among them.
struct CsvColumns {
  std::vector<std::string> names;  // by the header, or "1", "2", ...
  bool named = false;
};
/// Neither label nor cells are looked at. UserError as read_csv.
CsvColumns read_csv_columns(const std::string& path, const CsvOptions& options);

}  // namespace thtrain
