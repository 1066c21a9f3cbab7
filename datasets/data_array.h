// One array of a data set as it was found, and its rows as the numbers that trainers take.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/ir/tensor.h"

namespace thtrain {

struct DataArray {
  Tensor raw;                 // axis 0 counts examples; any real dtype and strides; maybe a read-only mapping
  bool swapped = false;       // in the byte order of the other kind of machine
  bool mapped = false;        // its pages are read from a file when they are touched
  std::string origin;         // for messages: "data/train_x.npy"
  ConfigPosition where = {};  // for messages: what asked for it
};

/// The row of the array that stands at place i of the result.
using RowOf = std::function<int64_t(int64_t)>;

/// UserError unless the array is real and has an axis of examples.
void check_array(const DataArray& array);

/// Rows times `scale`, in order of row_of(0), row_of(1), ..., into the contiguous `into` (float32 or float64 [n, ...]).
void convert_rows(const DataArray& array, double scale, const RowOf& row_of, const Tensor& into);

/// Rows of one number each into the int64 [n] `into`. UserError, naming the row, for one that is no integer.
void convert_labels(const DataArray& array, const RowOf& row_of, const Tensor& into);

/// "data/train_y.npy: row 17"
std::string row_place(const DataArray& array, int64_t row);
/// "data/train_x.npy: row 17, column 5", "... row 17, element [3, 5]": the element at `position` of a row of this
/// shape.
std::string element_place(const DataArray& array, const Shape& shape, int64_t row, int64_t position);
inline constexpr const char* kCountingHint = "rows and columns count from 0";

}  // namespace thtrain
