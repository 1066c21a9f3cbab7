// Expressions as trees of lines and as text for Graphviz.
#include "compiler/ir/print_tree.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain::print_tree_test {
namespace {

TEST(TreeText, ShowsWhatAValueIsComputedFrom) {
  const Expr x = vector("x", {3}), sum = x + 1, y = tanh(sum) * sum;
  EXPECT_EQ(tree_text(y),
            "mul : float64[3]\n"
            "|-tanh : float64[3]\n"
            "| |-add : float64[3]\n"
            "| | |-x : float64[3]\n"
            "| | |-constant 1 : float64[]\n"
            "|-add : float64[3]  see above\n");
}

TEST(TreeText, StopsAtADepthAndAtNames) {
  const Expr x = vector("x", {"n"}), hidden = named(exp(x), "hidden"), y = tanh(hidden) + x;
  EXPECT_EQ(tree_text(y, {.depth = 0}), "add : float64[n]  ...\n");
  EXPECT_EQ(tree_text(y, {.depth = 1}), "add : float64[n]\n|-tanh : float64[n]  ...\n|-x : float64[n]\n");
  EXPECT_EQ(tree_text(y, {.stop_on_name = true}),
            "add : float64[n]\n"
            "|-tanh : float64[n]\n"
            "| |-exp \"hidden\" : float64[n]  ...\n"
            "|-x : float64[n]\n");
}

TEST(TreeText, NamesOneOfSeveralResults) {
  const Expr x = vector("x", {2});
  EXPECT_EQ(tree_text(divmod(x, 2).second, {.depth = 1}),
            "divmod.1 : float64[2]\n|-x : float64[2]\n|-constant 2 : float64[]\n");
}

TEST(DotText, HasANodeForEachAndAnArrowForEachOperand) {
  const Expr x = vector("\"x\"", {3}), y = tanh(x + 1);
  EXPECT_EQ(dot_text({y}),
            "digraph {\n"
            "  node [shape=box, fontname=\"sans-serif\"];\n"
            "  n0 [label=\"\\\"x\\\" : float64[3]\", shape=ellipse];\n"
            "  n1 [label=\"constant 1 : float64[]\", shape=ellipse];\n"
            "  n2 [label=\"add\"];\n"
            "  n3 [label=\"tanh\"];\n"
            "  out0 [label=\"output 0\", shape=plaintext];\n"
            "  n0 -> n2 [label=\"float64[3]\"];\n"
            "  n1 -> n2 [label=\"float64[]\"];\n"
            "  n2 -> n3 [label=\"float64[3]\"];\n"
            "  n3 -> out0 [label=\"float64[3]\"];\n"
            "}\n");
}

}  // namespace
}  // namespace thtrain::print_tree_test
