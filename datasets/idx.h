// IDX files, the format of MNIST: one array, plain or gzipped.
//
// Format: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File formats": two
// zero bytes, a code of the dtype, the number of axes, each length in four bytes, then the elements; all big-endian.
#pragma once

#include <string>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// The array, row-major, in this machine's byte order: uint8, int8, int16, int32, float32 or float64. A gzipped file is
/// known by its content, not by its name. UserError: missing, a folder, no permission, not IDX, an unknown dtype, an
/// impossible shape, fewer or more bytes than the shape says, damaged gzip data.
Tensor read_idx(const std::string& path);

}  // namespace thtrain
