// Finished programs, which a warm start takes from the cache.
#include "compiler/runtime/program_image.h"

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
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

// A step that is called back through the reference: its text is read as a graph, and goes to the ops' type rules.
ReferenceStep call_of(const Expr& value) {
  ReferenceStep out{};
  out.number = 2;
  out.node = value.node_ptr();
  out.inputs = value.node().inputs.size();
  for (const Expr& input : value.node().inputs)
    out.values.push_back({true, input.type(), row_major(input.dims()).strides});
  out.values.push_back({true, value.type(), row_major(value.dims()).strides});
  return out;
}

std::vector<std::string> seeds() {
  ProgramImage empty, code, full;
  empty.arena_bytes = empty.lower_bound = 0;
  code = empty;
  code.source = {
      .comment = "// x\n",
      .helpers = {"typedef int a;\n", "typedef int b;\n"},
      .kernels = {{"k0_neg", "neg", "// out0 = neg(in0)\n", "() {}\n", {1}}, {"k1_add", "add", "", "() {}\n", {0, 1}}},
      .entry = "int main() {}\n"};
  full.checks = {{.what = "take: {value}",
                  .expected = "{limit}",
                  .node = "net/a, built at a.cpp:3",
                  .config = {.file = "a.toml", .line = 3, .column = 4, .length = 5, .source_line = "units = 3"},
                  .after_write = true}};
  full.shared_order = {2, 0, 1};
  full.constants = {Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}), Tensor(true), Tensor::zeros(DType::kInt8, {0, 3})};
  full.arena_bytes = 8 * Dim("net/x~0.0") + 64;
  full.lower_bound = 128;
  full.choices = {{{"matrix_product", "float32 2x3x4 NN"}, "library", "1 OpenBLAS"}};
  full.source.libraries = {"gemm_f32"};
  const Type type{.dtype = DType::kComplex128, .dims = {3, 4}};
  const Expr x = make_input(type, "x"), y = make_input(type, "y");
  full.reference_steps = {call_of(exp(x)), call_of(x * y), call_of(sum(x, 0)), call_of(join(1, {x, y}))};
  return {*to_bytes(empty), *to_bytes(code), *to_bytes(full)};
}

}  // namespace

const Parser kProgramImage = {"program_image", parse, seeds};

}  // namespace thtrain::fuzz
