// What `thtrain tune` remembered.
#include "compiler/tuning/tuning_table.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  const TuningTable table = TuningTable::parse(bytes);
  const TuningTable again = TuningTable::parse(table.text("head"));
  require(again == table, "what was read differs after it is written");
  return true;  // lines that are no entry are kept
}

std::vector<std::string> seeds() {
  return {"# a machine\nmatrix_product float32 60x784x500 NN = tile 6x4x392 [3] 3.5e-05; library [1 OpenBLAS] 4e-05\n",
          "matrix_product float32 60x784x500 NN = oneDNN [1 oneDNN 2.6.2] 1e-06\n\nunknown line\n", ""};
}

}  // namespace

const Parser kTuning = {"tuning", parse, seeds};

}  // namespace thtrain::fuzz
