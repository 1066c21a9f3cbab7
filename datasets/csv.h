// Tables of numbers in CSV files, with one column of labels or target values.
//
// Cells are separated by commas and may stand in double quotes (two of them for one inside, no line ends: RFC 4180 but
// for that); spaces around a cell and empty lines are skipped; lines end with LF or CRLF; a byte order mark is skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

struct CsvOptions {
  enum class Header { kFind, kYes, kNo };
  /// kFind: the first line is a header if none of its cells is a number.
  Header header = Header::kFind;
  /// The column of y: "first", "last", "none", or its name in the header.
  std::string label = "last";
  /// Classes that are known already (those of the training file). If any, another label is an error.
  std::vector<std::string> classes = {};
};

struct CsvTable {
  Tensor x = {};  // float64 [rows, columns without the label's], all finite
  Tensor y = {};  // [rows]: float64 if the labels are numbers, else int64 classes; int64[0] for "none"
  std::vector<std::string> columns = {};  // of x: the header's names, or "1", "2", ...
  std::vector<std::string> classes = {};  // text labels in their order of appearance, which gives their number
};

/// The labels are text if the first one is not a number (iris: "setosa"). UserError, each with line and column: a cell
/// that is no finite number, an empty cell, a line with another number of cells, an open quote, an unknown class; also:
/// no such label column, no rows, a file that cannot be read.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace thtrain
