// Sparse matrices in .npz files, as scipy.sparse.save_npz writes them and scipy.sparse.load_npz reads them.
//
// Format: SciPy 1.17, scipy/sparse/_matrix_io.py. The arrays are data, indices and indptr (of coo row and col), shape,
// and format, a text.
#pragma once

#include <functional>
#include <string>

#include "compiler/runtime/sparse_values.h"

namespace thtrain {

class NpzFile;

/// Has the archive what scipy.sparse.save_npz writes?
bool is_sparse_npz(const NpzFile& file);

/// A matrix in compressed rows or columns in its own format, one in coordinates (coo) in compressed rows. Lengths that
/// the archive claims are compared with its bytes before anything is allocated. UserError as NpzFile, and: no sparse
/// matrix, another format (bsr, dia), indices that are out of range, not ascending or given twice, an indptr that
/// falls, lengths that do not go together.
SparseTensor read_sparse_npz(const std::string& path);

/// Stored entries, in SciPy's order. Atomic, and `check` as of AtomicFile. UserError as SparseTensor::check and where
/// it cannot be written.
void write_sparse_npz(const std::string& path, const SparseTensor& matrix, const std::function<void()>& check = {});

}  // namespace thtrain
