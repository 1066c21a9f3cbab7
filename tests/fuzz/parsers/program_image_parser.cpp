// Finished programs, which a warm start takes from the cache.
#include "compiler/runtime/program_image.h"

#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  std::optional<ProgramImage> image = from_bytes(bytes);
  if (!image) return false;
  std::optional<std::string> again = to_bytes(*image);
  require(again && from_bytes(*again), "what was read does not read back after it is written");
  return true;
}

// Without calls of the reference: their text goes to the ops' rules of types, which take the number of inputs for
// granted. Of an image that is read, the trailer of its entry vouches for that.
std::vector<std::string> seeds() {
  ProgramImage empty, full;
  empty.arena_bytes = empty.lower_bound = 0;
  full.source = "int main() {}\n";
  full.checks = {{.what = "take: {value}",
                  .expected = "{limit}",
                  .node = "net/a, built at a.cpp:3",
                  .config = {.file = "a.toml", .line = 3, .column = 4, .length = 5, .source_line = "units = 3"},
                  .after_write = true}};
  full.shared_order = {2, 0, 1};
  full.constants = {Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}), Tensor(true), Tensor::zeros(DType::kInt8, {0, 3})};
  full.arena_bytes = 8 * Dim("net/x~0.0") + 64;
  full.lower_bound = 128;
  full.kernels = 7;
  kernel::MatrixProduct product;
  product.m = product.n = product.k = 4;
  full.choices = {{product, "library"}};
  return {*to_bytes(empty), *to_bytes(full)};
}

}  // namespace

const Parser kProgramImage = {"program_image", parse, seeds};

}  // namespace thtrain::fuzz
