// A matrix of weights as a part of a page.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "reports/sheet.h"

namespace thtrain {

/// A matrix, float64 [rows, columns], in cells of one colour each (ColourScale::kSigned): 0 is grey, numbers above it
/// are lighter and those below darker, in the same steps; a bar below has the colours and their numbers. Names of rows
/// are on the left, those of columns below, as far as cells are wide enough; either may be empty.
struct MatrixPicture {
  SheetSection section = {};
  bool is_transposed = false;  // columns are drawn in rows: of a matrix too high for the page
};
MatrixPicture draw_matrix(const Tensor& values, const std::vector<std::string>& row_names,
                          const std::vector<std::string>& column_names, const std::string& name);

}  // namespace thtrain
