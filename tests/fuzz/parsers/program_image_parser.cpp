// Finished programs, which a warm start takes from the cache.
#include "compiler/runtime/program_image.h"

#include "compiler/ops/registry.h"
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
  std::vector<std::string> out = {*to_bytes(empty), *to_bytes(full)};
  // Calls back into the reference: the ops whose texts have most to read.
  for (const char* name : {"reshape", "take", "repeat", "sum", "power", "concat", "slice"}) {
    const Op* op = find_op(name);
    if (!op || !op->cases) continue;
    ProgramImage with_step = empty;
    for (const OpCase& c : op->cases()) {
      std::vector<Expr> inputs;
      for (const Type& type : c.inputs) inputs.push_back(make_input(type, str("x", inputs.size())));
      for (const Expr& result : c.build(inputs)) {
        const Node& node = result.node();
        if (node.is_leaf() || !with_step.reference_steps.empty()) continue;
        ReferenceStep step{3, result.node_ptr(), {}, node.inputs.size(), nullptr};
        for (const Expr& input : node.inputs) step.values.push_back({true, input.type(), {}});
        for (const Type& type : node.types) step.values.push_back({type.kind == TypeKind::kTensor, type, {2, "n"}});
        with_step.reference_steps.push_back(step);
        if (!to_bytes(with_step)) with_step.reference_steps.clear();
      }
    }
    if (!with_step.reference_steps.empty()) out.push_back(*to_bytes(with_step));
  }
  return out;
}

}  // namespace

const Parser kProgramImage = {"program_image", parse, seeds};

}  // namespace thtrain::fuzz
