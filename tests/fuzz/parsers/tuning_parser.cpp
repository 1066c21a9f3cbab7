// What `thtrain tune` remembered.
#include "compiler/runtime/tuner.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  bool complained = false;
  TuningTable table = detail::read_tuning(bytes, [&](const std::string&) { complained = true; });
  TuningTable again = detail::read_tuning(detail::tuning_text(table, "head"), [&](const std::string&) {
    require(false, "what was read does not read back after it is written");
  });
  require(again == table, "what was read differs after it is written");
  return !complained;
}

std::vector<std::string> seeds() {
  return {"# a machine\nfloat32 60x784x500 NN = tile 6x4x392\nfloat64 1x2x3 TN added = library\n",
          "float32 60x784x500 NN = oneDNN 2.6.2\n\n", ""};
}

}  // namespace

const Parser kTuning = {"tuning", parse, seeds};

}  // namespace thtrain::fuzz
