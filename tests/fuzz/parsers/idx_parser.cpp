// IDX files, plain and gzipped.
#include "datasets/idx.h"

#include "compiler/base/error.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  try {
    Tensor array = read_idx(scratch_file().holding(bytes));
    require(array.is_contiguous(), "the array is not row-major");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  return {
      std::string("\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\1abcd", 20),   // uint8[2, 2, 1]
      std::string("\0\0\15\1\0\0\0\2\77\200\0\0\100\0\0\0", 16),  // float32[2]
      std::string("\0\0\13\2\0\0\0\1\0\0\0\2\1\2\3\4", 16),       // int16[1, 2]
      std::string("\0\0\16\1\0\0\0\1\77\360\0\0\0\0\0\0", 16),    // float64[1]
      std::string("\0\0\11\1\0\0\0\0", 8),                        // int8[0]
      // uint8[3] = 1, 2, 3, gzipped
      std::string("\37\213\10\0\0\0\0\0\2\3\143\140\340\140\144\140\140\140\146\144\142\6\0\213\345\275\244\13\0\0\0",
                  31),
  };
}

}  // namespace

const Parser kIdx = {"idx", parse, seeds};

}  // namespace thtrain::fuzz
