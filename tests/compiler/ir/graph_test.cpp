// Graphs: texts, merging, and a million nodes.
#include "compiler/ir/graph.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/ir/verify.h"

namespace thtrain {
namespace {

TEST(Graph, Text) {
  Expr x = tensor("x", {"n", 3}, DType::kFloat64);
  Shared w(Tensor::zeros(DType::kFloat64, {3, 2}), "W");
  Expr y = dot(x, w);
  EXPECT_EQ(graph_text({.inputs = {x}, .outputs = {y}, .updates = {{w, w.expr() + w.expr()}}}),
            "input  %0 x : float64[n, 3]\n"
            "shared %1 W : float64[3, 2]\n"
            "%2 = dot(%0, %1) : float64[n, 2]\n"
            "%3 = add(%1, %1) : float64[3, 2]\n"
            "output  %2\n"
            "update  %1 <- %3\n");
}

TEST(Graph, MillionNodesInALine) {
  Expr x = scalar("x"), y = x;
  for (int i = 0; i < 1'000'000; ++i) y = exp(y);
  Graph graph{.inputs = {x}, .outputs = {y}, .updates = {}};
  EXPECT_EQ(node_count(graph), 1'000'001u);
  Graph again = rewrite_graph(graph, nullptr);
  EXPECT_TRUE(again.outputs[0].same(y));
}

TEST(Graph, LongChainsArePrintedAndMoved) {
  Expr x = scalar("x"), y = x;
  for (int i = 0; i < 100'000; ++i) y = exp(y);
  Graph graph{.inputs = {x}, .outputs = {y}, .updates = {}};
  EXPECT_GT(graph_text(graph).size(), 2'000'000u);
  Expr z = scalar("z");
  std::vector<Expr> moved = substitute(graph.outputs, std::vector<std::pair<Expr, Expr>>{{x, z}});
  EXPECT_EQ(node_count({.inputs = {z}, .outputs = moved, .updates = {}}), 100'001u);
}

TEST(Graph, EqualNodesMergeUnlessTheirTagsDiffer) {
  Expr x = scalar("x");
  auto count = [&](const Expr& a, const Expr& b) {
    return node_count(rewrite_graph({.inputs = {x}, .outputs = {a, b}, .updates = {}}, nullptr));
  };
  EXPECT_EQ(count(exp(x), exp(x)), 2u);
  EXPECT_EQ(count(exp(x), Expr(tagged(exp(x).node_ptr(), 1))), 3u);
  EXPECT_EQ(count(exp(x * 2), exp(x * 2)), 4u);
  EXPECT_EQ(count(exp(x * 2), exp(x * 3)), 7u);
}

TEST(Graph, VerifyFindsAWrongType) {
  Expr x = scalar("x"), y = exp(x);
  const_cast<Node&>(y.node()).types[0].dtype = DType::kFloat32;
  try {
    verify({.inputs = {x}, .outputs = {y}, .updates = {}}, "a_pass");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.messages()[0].what, "after a_pass: exp(x) has the type float32[], its rule says float64[]");
  }
}

}  // namespace
}  // namespace thtrain
