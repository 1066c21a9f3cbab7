// IDX files, the format of MNIST: one array, plain or gzipped.
//
// Format: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File formats": two
// zero bytes, a code of the dtype, the number of axes, each length in four bytes, then the elements; all big-endian.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// What precedes the elements. Those of a plain file are big-endian, row-major, from byte `data_offset` on.
struct IdxHeader {
  DType dtype = DType::kUInt8;
  Shape shape;
  uint64_t data_offset = 0;
  bool packed = false;  // gzipped
};

/// Checked against the file's size. A gzipped file is known by its content, not by its name. UserError: missing, a
/// folder, no permission, not IDX, an unknown dtype, an impossible shape, fewer or more bytes than the shape says.
IdxHeader read_idx_header(const std::string& path);

/// The same for a gzipped file that gives `unpacked` bytes. UserError where that are fewer or more.
void check_idx_size(const std::string& path, uint64_t unpacked);

/// The array, row-major, in this machine's byte order: uint8, int8, int16, int32, float32 or float64. UserError as
/// read_idx_header, and: damaged gzip data, an array that cannot fit in memory.
Tensor read_idx(const std::string& path);

}  // namespace thtrain
