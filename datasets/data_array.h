// One array of a data set as it was found, and its rows as the numbers that trainers take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/row_source.h"

namespace thtrain {

/// How people find the rows of a text file: its lines and the names of its columns, both as they count them.
struct TextRows {
  std::vector<int64_t> lines;        // of each row, from 1
  std::vector<std::string> columns;  // of an example: the header's names, or "1", "2", ...
  bool named = false;                // by a header
  std::string label = {};            // the labels' column: "\"kind\"" by the header, or "3"; "" where there is none
};

struct DataArray {
  Tensor raw;  // axis 0 counts examples; any real dtype and strides. Where `source` is set: dtype and lengths only
  bool swapped = false;  // in the byte order of the other kind of machine
  /// The rows stay in their file, and are read into buffers of our own when they are asked for. (A mapping would be
  /// ended by SIGBUS where another program cuts the file short.)
  std::shared_ptr<const RowSource> source = {};
  std::string origin;                         // for messages: "data/train_x.npy"
  ConfigPosition where = {};                  // for messages: what asked for it
  std::shared_ptr<const TextRows> text = {};  // for messages, of a text file
  /// Of pictures: the file of each row, by its path from the folder that was named.
  std::shared_ptr<const std::vector<std::string>> files = {};
};

/// The row of the array at index i of the result.
using RowOf = std::function<int64_t(int64_t)>;

/// Lengths and dtype without elements.
Tensor outline(DType dtype, const Shape& shape);
/// Bytes of one row as it is in the file.
int64_t row_bytes(const DataArray& array);

/// UserError unless the array is real and has an axis of examples.
void check_array(const DataArray& array);

/// Rows times `scale`, in order of row_of(0), row_of(1), ..., into the contiguous `into` (float32 or float64 [n, ...]).
/// UserError where the file cannot be read.
void convert_rows(const DataArray& array, double scale, const RowOf& row_of, Tensor into);

/// Integers into the contiguous int64 [n, ...] `into`. UserError, naming the row, for one that is none. Where `within`
/// is given, only the first within(i) numbers of the i-th row of the result are looked at, and the others become 0.
void convert_labels(const DataArray& array, const RowOf& row_of, Tensor into, const RowOf& within = nullptr);

/// Rows of numbers that are 0 or 1 into the contiguous uint8 [n, ...] `into`. UserError, naming the element, for
/// another. `within` as above.
void convert_bits(const DataArray& array, const RowOf& row_of, Tensor into, const RowOf& within = nullptr);

/// "data/train_y.npy: row 17", "iris.csv: line 18".
std::string row_location(const DataArray& array, int64_t row);
/// "data/train_x.npy: row 17, column 5", "... row 17, element [3, 5]", "iris.csv: line 18, column \"width\"": the
/// element at `position` of a row of this shape.
std::string element_location(const DataArray& array, const Shape& shape, int64_t row, int64_t position);
/// What such a message needs as a hint: how rows and columns are counted; "" where there is no doubt.
std::string counting_hint(const DataArray& array);

}  // namespace thtrain
