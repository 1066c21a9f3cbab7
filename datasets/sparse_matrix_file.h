// A sparse matrix in a file of either format, and its rows as examples.
#pragma once

#include <string>

#include "compiler/runtime/sparse_values.h"
#include "datasets/data_array.h"

namespace thtrain {

/// Of real numbers: an .npz of scipy.sparse.save_npz, known by its content, or a Matrix Market file. UserError as their
/// readers, and where the numbers are complex.
SparseTensor read_sparse_matrix(const std::string& path);

/// Its rows, with a sparse source. UserError as above, and where it has more than 2147483647 columns.
DataArray read_matrix_rows(const std::string& path);

}  // namespace thtrain
