// No op lacks a row: its doc block, an error rule, a batching rule, native code for every real dtype. What has none is
// named here. (Cases and a reference: registry_test.cpp; a gradient, or that there is none: gradient_rules_test.cpp;
// forward mode: forward_of_ops_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/ops/case_inputs.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/op_text.h"
#include "compiler/ops/registry.h"
#include "tests/support/native_program.h"

namespace thtrain::op_rows_test {
namespace {

bool is_leaf(const Op& op) {
  return family_of(op) == "leaf";
}

TEST(OpRows, EveryOpIsExplained) {
  for (const Op* op : all_ops()) {
    SCOPED_TRACE(op->name);
    std::set<std::string> labels;
    for (const OpStatement& s : statements_of_doc(op->doc)) {
      EXPECT_TRUE(labels.insert(s.label).second) << s.label << " is said twice";
      EXPECT_FALSE(s.text.empty()) << s.label;
      EXPECT_TRUE(s.label == "Example" || s.text.ends_with('.')) << s.label << ": " << s.text;
    }
    std::string gradient;
    for (const OpStatement& s : statements_of(*op, kernel::emulated_cuda_target())) {
      labels.insert(s.label);
      if (s.label == "Gradient") gradient = s.text;
    }
    EXPECT_TRUE(labels.contains("Error bound") && labels.contains("Gradient"));
    if (op->fused) continue;
    EXPECT_TRUE(labels.contains("Shapes") || op->scalar) << "lacks Shapes";
    EXPECT_TRUE(labels.contains("dtypes")) << "lacks dtypes";
    if (is_leaf(*op)) continue;
    EXPECT_TRUE(labels.contains("Edge cases")) << "lacks Edge cases";
    const bool has_gradient = op->gradient && op != &stop_gradient_op();
    EXPECT_EQ(gradient.starts_with("none"), !has_gradient) << gradient;
  }
}

TEST(OpRows, TheFileIsInTheFolderOfTheFamily) {
  for (const Op* op : all_ops()) {
    const std::string family = is_leaf(*op) ? "ir" : std::string(family_of(*op));
    EXPECT_NE(file_of(*op).find(str("/", family, "/")), std::string::npos) << op->name << ": " << file_of(*op);
    EXPECT_TRUE(file_of(*op).starts_with("compiler/")) << file_of(*op);
  }
}

TEST(OpRows, StatementsOfADocBlock) {
  std::string text;
  for (const OpStatement& s : statements_of_doc("f(x).\nMore of it.\nShapes: y as x,\nas long.\nGradient: none."))
    text += str(s.label, "|", s.text, "\n");
  EXPECT_EQ(text, "|f(x). More of it.\nShapes|y as x, as long.\nGradient|none.\n");
}

// Not some other op that its builder makes for these inputs.
TEST(OpRows, EveryOpIsInItsCases) {
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    bool is_there = false;
    for (const OpCase& c : op->cases()) {
      const std::vector<Expr> results = c.build(make_inputs(c, "x", 1).variables);
      for (const Node* node : topological_order(results)) is_there = is_there || node->op == op;
    }
    EXPECT_TRUE(is_there) << op->name;
  }
}

// Those without floats, or without inputs, are exact; normalize is judged by moving its inputs.
TEST(OpRows, OnlyTheseHaveNoErrorRule) {
  std::string without;
  for (const Op* op : all_ops())
    if (!op->error && !op->scalar && !is_leaf(*op)) without += op->name + " ";
  EXPECT_EQ(without,
            "length define_length eye arange nonzero csr_rows csr_transposed csr_checked csr_product_rows normalize ");
}

// Of these vmap makes a loop. A length that the data decides it refuses (vmap_test.cpp); what has no inputs is the same
// for all. For each example's gradient to filters a loop was the fastest: as one convolution of groups it took 1.02 to
// 1.2 times as long, by products of windows 1.08 to 1.7 times (32 images, of 1, 16 and 64 channels).
TEST(OpRows, OnlyTheseHaveNoBatchingRule) {
  std::string loops;
  for (const Op* op : all_ops())
    if (std::ranges::count(rules_of(*op), "vmap by a loop")) loops += op->name + " ";
  EXPECT_EQ(
      loops,
      "nonzero gemm gemv ger csr_sampled_dot csr_rows csr_transposed csr_checked regular_gradient "
      "csr_product_rows csr_product conv_weight_gradient "
      "mt_uniform mt_normal mt_lognormal mt_exponential mt_laplace "
      "mt_logistic mt_gamma mt_beta mt_chisquare mt_poisson mt_binomial mt_geometric mt_randint mt_random_integers "
      "mt_permutation mt_choice "
      "mt_multinomial mrg_uniform print check graph_call_with_tangents ");
}

// The types of a case with another real dtype for float64.
std::vector<Type> with_dtype(std::vector<Type> types, DType dtype) {
  for (Type& type : types)
    if (type.dtype == DType::kFloat64) type.dtype = dtype;
  return types;
}

// The first case of each op that has floats, in every real dtype that the op takes.
TEST(OpRows, OnlyTheseCallTheirReference) {
  std::string by_reference;
  size_t native = 0;
  for (const Op* op : all_ops()) {
    // A processor has no placements.
    if (!op->cases || op->has_effect || op->place != Place::kAnywhere) continue;
    for (const OpCase& c : op->cases()) {
      const bool has_floats =
          std::ranges::any_of(c.inputs, [](const Type& type) { return type.dtype == DType::kFloat64; });
      if (!has_floats) continue;
      std::string dtypes;
      for (DType dtype : kAllDTypes) {
        if (is_complex(dtype)) continue;
        std::vector<Expr> inputs, results;
        for (const Type& type : with_dtype(c.inputs, dtype))
          inputs.push_back(make_input(type, str("x", inputs.size())));
        try {
          results = c.build(inputs);
        } catch (const UserError&) {
          continue;  // not of this dtype
        }
        if (is_all_native({inputs, results, {}}))
          ++native;
        else
          dtypes += str(" ", name_of(dtype));
      }
      if (!dtypes.empty()) by_reference += str(op->name, dtypes, "\n");
      break;
    }
  }
  EXPECT_GT(native, 500u);
  EXPECT_EQ(by_reference, "pow bool int8 int16 int32 int64 uint8 uint16 uint32 uint64\n");
}

}  // namespace
}  // namespace thtrain::op_rows_test
