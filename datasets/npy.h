// NumPy's .npy files: one array, read (versions 1, 2 and 3) and written.
//
// Format: NumPy Enhancement Proposal 1 and numpy.lib.format. Read are bool, int8 to int64, uint8 to uint64, float32,
// float64, complex64 and complex128, in either byte order, in C or Fortran order. Bytes after the array are ignored, as
// NumPy does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/base/file.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

/// What precedes the elements.
struct NpyHeader {
  int version = 1;  // 1, 2 or 3
  DType dtype = DType::kFloat64;
  bool swapped = false;        // the byte order is not this machine's
  bool fortran_order = false;  // the first axis varies fastest
  Shape shape;
  uint64_t data_offset = 0;  // bytes before the first element

  uint64_t data_bytes() const { return static_cast<uint64_t>(element_count(shape)) * size_of(dtype); }
  Shape strides() const;          // in elements
  std::string type_text() const;  // "float32[60000, 784]"
};

/// Only the header, checked against the file's size. UserError: missing, a folder, no permission, another format,
/// unknown version, malformed header, unsupported dtype, a shape that is negative, too large or longer than the file.
NpyHeader read_npy_header(const InputFile& file);
NpyHeader read_npy_header(const std::string& path);

/// The array in this machine's byte order, row-major. UserError as read_npy_header, and where it cannot fit in memory.
Tensor read_npy(const std::string& path);
/// The elements as they are in the file: in its byte order, with its strides, a bool as the byte that it holds.
Tensor read_npy_elements(const InputFile& file, const NpyHeader& header);

/// Version 1, C order, this machine's byte order: the bytes that numpy.save writes. Atomic: written next to `path`,
/// synced, renamed. UserError if it cannot be written.
void write_npy(const std::string& path, const Tensor& array);

/// The array of a whole .npy file that is in memory; `path` names it in errors. `file` is a uint8 vector that the
/// result may take over and change. Row-major, in this machine's byte order. UserError as read_npy_header.
Tensor parse_npy(Tensor file, const std::string& path);
/// The header of a .npy file of `file_bytes`, whose first bytes (at least kMaxNpyHeader, or all) are in memory.
NpyHeader parse_npy_header(std::string_view beginning, uint64_t file_bytes, const std::string& path);
/// What a header with all before it can have; NumPy's own are below 200 bytes.
inline constexpr uint64_t kMaxNpyHeader = (uint64_t{1} << 20) + 12;
/// What write_npy puts before the elements.
std::string npy_header_text(const Tensor& array);

/// Reverses the bytes of each element (of each half of a complex one). `array` must be contiguous and writable.
void swap_bytes(Tensor array);

}  // namespace thtrain
