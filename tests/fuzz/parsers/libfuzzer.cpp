// One parser under libFuzzer: THTRAIN_FUZZ_PARSER names it. With THTRAIN_FUZZ_SEEDS=FOLDER the program writes the
// parser's seeds there and ends.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/fuzz/parsers/parser.h"

namespace {
const thtrain::fuzz::Parser& parser() {
  return thtrain::fuzz::THTRAIN_FUZZ_PARSER;
}
}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("THTRAIN_FUZZ_SEEDS");
  if (!folder) return 0;
  int number = 0;
  for (const std::string& seed : parser().seeds()) {
    std::ofstream file(std::string(folder) + "/seed-" + std::to_string(number++), std::ios::binary);
    file << seed;
    if (!file.flush()) {
      std::fprintf(stderr, "%s: the seeds cannot be written\n", folder);
      std::exit(1);
    }
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  parser().parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
