// Matrix Market's text files of matrices in coordinates.
//
// R. Boisvert, R. Pozo, K. Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935, 1996.
#pragma once

#include <string>

#include "compiler/runtime/sparse_values.h"

namespace thtrain {

/// In compressed rows: real (float64), integer (int64), complex (complex128) and pattern (float64, ones); general,
/// symmetric, skew-symmetric and Hermitian, whose elements are given on one side of the diagonal. In any order, gzipped
/// or not. The lengths that the file claims are compared with its bytes before anything is allocated. UserError, with
/// the line: no such file, a dense matrix (array), sizes or an element that are none, an element outside of the matrix
/// or given twice, fewer or more elements than the sizes say.
SparseTensor read_matrix_market(const std::string& path);

}  // namespace thtrain
