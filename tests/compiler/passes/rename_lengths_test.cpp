#include "compiler/passes/rename_lengths.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
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

TEST(RenameLengths, ReplacesInTypesAndProperties) {
  Expr x = vector("x", {"n"});
  Graph after = rename_lengths({{x}, {exp(x)}, {}}, {{"n", Dim(7)}});
  EXPECT_EQ(after.outputs[0].type().text(), "float64[7]");
}

}  // namespace
}  // namespace thtrain
