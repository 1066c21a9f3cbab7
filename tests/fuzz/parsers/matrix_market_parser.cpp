// Matrix Market's files.
#include "datasets/matrix_market.h"

#include "compiler/base/error.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  try {
    const SparseTensor matrix = read_matrix_market(scratch_file().holding(bytes));
    require(!matrix.fault(), "a matrix was read whose parts are none");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  return {
      "%%MatrixMarket matrix coordinate real general\n%a comment\n3 4 4\n1 1 1.5\n1 3 -2\n3 2 3\n3 4 4\n",
      "%%MatrixMarket matrix coordinate integer symmetric\r\n3 3 3\r\n1 1 1\r\n2 2 3\r\n3 1 2\r\n",
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 2 1\n",
      "%%MatrixMarket MATRIX Coordinate Pattern General\n3 4 2\n3 4\n1 1\n",
      "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1e3\n",
  };
}

}  // namespace

const Parser kMatrixMarket = {"matrix_market", parse, seeds};

}  // namespace thtrain::fuzz
