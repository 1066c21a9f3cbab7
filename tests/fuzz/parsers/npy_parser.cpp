// .npy files: from the disk and from memory.
#include "datasets/npy.h"

#include <cstring>
#include <optional>

#include "compiler/base/error.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

std::optional<Tensor> from_memory(std::string_view bytes) {
  Tensor file = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(file.raw(), bytes.data(), bytes.size());
  try {
    return parse_npy(file, "memory.npy");
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool parse(std::string_view bytes) {
  std::optional<Tensor> in_memory = from_memory(bytes);
  const std::string& path = scratch_file().holding(bytes);
  try {
    NpyHeader header = read_npy_header(path);
    Tensor read = read_npy(path);
    require(read.shape() == header.shape && read.dtype() == header.dtype, "the array is not what its header says");
    require(in_memory && same_bits(read, *in_memory), "the array in memory differs from the one on the disk");
    return true;
  } catch (const UserError&) {
    require(!in_memory, "memory accepts what the disk does not");
    return false;
  }
}

std::string npy(const std::string& dict, const std::string& data, char version = 1) {
  std::string text = dict + "\n", length;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) length += static_cast<char>(text.size() >> (8 * i) & 255);
  return std::string("\x93NUMPY", 6) + version + '\0' + length + text + data;
}

std::vector<std::string> seeds() {
  return {
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, '?')),
      npy("{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1), }", std::string(16, '@')),
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\2", 3)),
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "7", 2),
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5), }", "", 3),
      npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", std::string(16, '\1')),
  };
}

}  // namespace

const Parser kNpy = {"npy", parse, seeds};

}  // namespace thtrain::fuzz
