// What `thtrain tune --import` takes over: only times of known candidates.
#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/exchanged_times.h"
#include "compiler/tuning/tuner.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

std::string head_text() {
  return tuned_machine_text(1, machine());
}

bool parse(std::string_view bytes) {
  TuningTable table;
  try {
    table = imported_times(bytes, "file", 1);
  } catch (const UserError&) {
    return false;
  }
  for (const auto& [key, all] : table.times())
    for (const Measured& measured : all)
      require(is_own_candidate_name(key.substr(0, key.find(' ')), measured.candidate), "an unknown candidate came in");
  const std::string again = table.text(head_text()) + str("# the end of ", table.times().size(), " choices\n");
  require(imported_times(again, "file", 1) == table, "what was read differs after it is written");
  return true;
}

std::vector<std::string> seeds() {
  const std::string head = "# " + head_text() + "\n";
  return {
      head + "# the end of 0 choices\n",
      head +
          "matrix_product float32 60x784x500 NN = tile 6x4x392 [3] 3.5e-05; library [1 OpenBLAS] 4e-05\n# the end of "
          "1 choices\n"};
}

}  // namespace

const Parser kTuningImport = {"tuning_import", parse, seeds};

}  // namespace thtrain::fuzz
