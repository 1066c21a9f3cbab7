// Finished programs as bytes: they read back, and what is damaged does not.
#include "compiler/runtime/program_image.h"

#include <gtest/gtest.h>

#include "compiler/ops/registry.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

ProgramImage image() {
  ProgramImage out;
  out.source = {
      .comment = "// x\n",
      .helpers = {"typedef int a;\n", "typedef int b;\n"},
      .kernels = {{"k0_neg", "neg", "// out0 = neg(in0)\n", "() {}\n", {1}}, {"k1_add", "add", "", "() {}\n", {0, 1}}},
      .entry = "int main() {}\n"};
  out.checks = {{.what = "take: {value}",
                 .expected = "{limit}",
                 .node = "net/a, built at a.cpp:3",
                 .config = {.file = "a.toml", .line = 3, .column = 4, .length = 5, .source_line = "units = 3"},
                 .after_write = true}};
  out.shared_order = {2, 0, 1};
  out.constants = {Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}).view({2, 2}, {1, 2}, 0), Tensor(true),
                   Tensor::zeros(DType::kInt8, {0, 3})};
  out.arena_bytes = 8 * Dim("net/x~0.0") + 64;
  out.lower_bound = 128;
  return out;
}

TEST(ProgramImage, ReadsBack) {
  ProgramImage first = image();
  std::optional<ProgramImage> again = from_bytes(*to_bytes(first));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->source, first.source);
  ASSERT_EQ(again->checks.size(), 1u);
  EXPECT_EQ(again->checks[0].expected, "{limit}");
  EXPECT_EQ(again->checks[0].config.source_line, "units = 3");
  EXPECT_TRUE(again->checks[0].after_write);
  EXPECT_EQ(again->shared_order, first.shared_order);
  ASSERT_EQ(again->constants.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(again->constants[i], first.constants[i])) << i;
  EXPECT_EQ(again->arena_bytes, first.arena_bytes);
  EXPECT_EQ(again->lower_bound, first.lower_bound);
}

TEST(ProgramImage, WhatIsCutOffOrOfAnotherVersionIsNoProgram) {
  std::string bytes = *to_bytes(image());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(from_bytes(std::string_view(bytes).substr(0, length))) << length;
  EXPECT_FALSE(from_bytes(bytes + "x"));
  std::string other = bytes;
  other[other.find('\n') - 1] = '1';
  EXPECT_FALSE(from_bytes(other));
}

// The call of every op's case reads back with its location in the user's program; a few have types that need a value.
TEST(ReferenceStep, EveryOpsCallReadsBack) {
  Scope scope("net/layer", {.file = "a.toml", .line = 3, .column = 1, .length = 5, .source_line = "units = 3"});
  size_t stored = 0, not_stored = 0;
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    for (const OpCase& c : op->cases()) {
      CaseInputs in = make_inputs(c, "x", 1);
      ProgramImage whole = image();
      for (const Expr& out : c.build(in.variables)) {
        const Node& node = out.node();
        if (node.is_leaf()) continue;
        ReferenceStep step{3, out.node_ptr(), {}, node.inputs.size(), false, nullptr};
        for (const Expr& input : node.inputs) step.values.push_back({true, input.type(), {}});
        for (const Type& type : node.types) step.values.push_back({type.kind == TypeKind::kTensor, type, {2, "n"}});
        whole.reference_steps.push_back(step);
      }
      std::optional<std::string> bytes = to_bytes(whole);
      (bytes ? stored : not_stored) += 1;
      if (!bytes) continue;
      std::optional<ProgramImage> again = from_bytes(*bytes);
      ASSERT_TRUE(again) << op->name << " " << c.name;
      for (size_t i = 0; i < whole.reference_steps.size(); ++i) {
        const ReferenceStep &a = whole.reference_steps[i], &b = again->reference_steps[i];
        EXPECT_EQ(b.node->op, a.node->op);
        EXPECT_EQ(b.node->types, a.node->types);
        EXPECT_EQ(b.node->props, a.node->props);
        EXPECT_EQ(b.node->origin.text(), a.node->origin.text());
        EXPECT_EQ(b.node->origin.config().source_line, "units = 3");
        EXPECT_EQ(b.values.back().has_elements, a.values.back().has_elements);
        EXPECT_EQ(b.values.back().strides, a.values.back().strides);
      }
    }
  }
  EXPECT_GT(stored, 1000u);
  EXPECT_LT(not_stored, 10u);
}

}  // namespace
}  // namespace thtrain
