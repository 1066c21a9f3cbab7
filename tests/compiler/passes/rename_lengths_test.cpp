#include "compiler/passes/rename_lengths.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/passes/match.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

Graph example() {
  Expr x = matrix("x"), y = matrix("y");
  return {{x, y}, {tanh(dot(x, y))}, {}};
}

TEST(CanonicalLengths, TheTextDependsOnTheGraphAlone) {
  Graph first = example(), second = example();
  EXPECT_NE(graph_text(first), graph_text(second)) << "serial numbers tell variables apart";
  EXPECT_EQ(graph_text(canonical_lengths(first).graph), graph_text(canonical_lengths(second).graph));
}

TEST(CanonicalLengths, AKnownLengthStandsForAName) {
  Expr x = matrix("x"), w = matrix("w", {784, 10});
  CanonicalGraph canonical = canonical_lengths({{x, w}, {dot(x, w)}, {}});
  EXPECT_EQ(canonical.graph.inputs[0].type().text(), "float64[x~0.0, 784]");
  ASSERT_EQ(canonical.shape_checks.size(), 1u);
  EXPECT_EQ(canonical.shape_checks[0].what, "dot: inner lengths differ");
}

TEST(CanonicalLengths, DefinedNamesDoNotDependOnSerialNumbers) {
  auto masked_sum = [] {
    const Expr x = vector("x"), mask = tensor_of_rank("mask", 1, DType::kBool);
    const Expr chosen = x[mask];
    return Graph{{x, mask}, {chosen * chosen}, {}};
  };
  const CanonicalGraph canonical = canonical_lengths(masked_sum());
  EXPECT_EQ(canonical.graph.outputs[0].type().text(), "float64[#mask~0]");
  EXPECT_EQ(graph_text(canonical.graph), graph_text(canonical_lengths(masked_sum()).graph));
}

TEST(CanonicalLengths, ChecksOfDefinedLengthsWaitForTheData) {
  const Expr x = vector("x", {"n"}), mask = tensor_of_rank("mask", 1, DType::kBool);
  const CanonicalGraph canonical = canonical_lengths({{x, mask}, {x[mask] + x}, {}});
  ASSERT_EQ(canonical.value_checks.size(), 1u);
  EXPECT_EQ(canonical.value_checks[0].left.text(), "#mask~0");
}

TEST(RenameLengths, ReplacesInTypesAndProperties) {
  Expr x = vector("x", {"n"});
  Graph after = rename_lengths({{x}, {exp(x)}, {}}, {{"n", Dim(7)}});
  EXPECT_EQ(after.outputs[0].type().text(), "float64[7]");
}

}  // namespace
}  // namespace thtrain
