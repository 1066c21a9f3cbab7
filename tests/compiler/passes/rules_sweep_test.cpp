// How rules are applied to a graph: merging, budgets, bodies, tags, notes.
#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/stabilize.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

Graph graph_of(std::vector<Expr> outputs) {
  Graph graph;
  for (const Expr& leaf : leaves_of(outputs)) graph.inputs.push_back(leaf);
  graph.outputs = std::move(outputs);
  return graph;
}

TEST(ApplyRules, MergesCommutedOperands) {
  const Leaves& l = leaves();
  Graph out = canonicalize(graph_of({l.x + l.y, l.y + l.x, maximum(l.x, l.y), maximum(l.y, l.x)}), {});
  EXPECT_TRUE(out.outputs[0].same(out.outputs[1]));
  EXPECT_TRUE(input_of(out.outputs[0], 0).same(l.x));  // the order that was met first
  EXPECT_FALSE(out.outputs[2].same(out.outputs[3]));   // of equal zeros, maximum gives the first
}

TEST(ApplyRules, FoldsNumbers) {
  const Leaves& l = leaves();
  Expr two = make_constant(Tensor(2.0)), three = make_constant(Tensor(3.0));
  EXPECT_EQ(number_of(input_of(canonical(tanh(l.x + two * three)).value, 0).node().inputs[1]), 6);
}

TEST(ApplyRules, RewritesUpdates) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = "w";
  storage->type = leaves().x.type();
  storage->value = Tensor::zeros(DType::kFloat64, {7});
  Expr w = make_shared_leaf(storage, std::source_location::current());
  Graph graph{{leaves().x}, {}, {{w, -(-w) - leaves().x * 1}}};
  Graph out = canonicalize(graph, {});
  EXPECT_TRUE(out.updates[0].variable.same(w));
  EXPECT_EQ(expr_text(out.updates[0].value), "sub(w, x)");
}

TEST(ApplyRules, NotesWhatItDoes) {
  const Leaves& l = leaves();
  std::vector<Fired> fired;
  canonicalize(graph_of({-(-l.x)}), {.fired = &fired});
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].pass, "canonicalize");
  EXPECT_EQ(fired[0].rule, "neg_neg");
  EXPECT_EQ(expr_text(fired[0].before), "neg(neg(x))");
  EXPECT_EQ(expr_text(fired[0].after), "x");
  EXPECT_EQ(fired[0].safety, Safety::kExact);
}

TEST(ApplyRules, InheritsOrigins) {
  const Leaves& l = leaves();
  Expr built = log(1 + sqr(l.x));
  Expr out = stable(built).value;
  EXPECT_TRUE(is_op(out, log1p_op()));
  EXPECT_EQ(out.node().origin.line, built.node().origin.line);
  EXPECT_STREQ(out.node().origin.file, built.node().origin.file);
}

// A sign that goes to and fro: the circle ends.
TEST(ApplyRules, EndsCirclesOfRules) {
  const Expr x = any_value("x"), y = any_value("y");
  const Rule there{"there", x - y, x + (-y)}, back{"back", x + (-y), x - y};
  const Rule* rules[] = {&there, &back};
  Graph out = apply_rules(graph_of({leaves().x - leaves().y}), rules, {}, "test");
  verify(out, "test");
}

TEST(ApplyRules, EndsRulesThatGrow) {
  const Expr x = any_value("x");
  const Rule grows{"grows", exp(x), exp(x + 1)};
  const Rule* rules[] = {&grows};
  Graph out = apply_rules(graph_of({exp(leaves().x), exp(leaves().y)}), rules, {}, "test");
  EXPECT_LT(node_count(out), 400u);
}

TEST(ApplyRules, DoesNotTouchTokensAndSeveralOutputs) {
  const Leaves& l = leaves();
  auto [quotient, remainder] = divmod(l.x, l.y * 1);
  std::vector<Expr> out = canonicalize(graph_of({quotient, remainder}), {}).outputs;
  EXPECT_TRUE(&out[0].node() == &out[1].node());
  EXPECT_EQ(out[1].output(), 1u);
  EXPECT_TRUE(input_of(out[0], 1).same(l.y));
}

// What is computed again on purpose does not become one with the original by being rewritten.
TEST(ApplyRules, KeepsRecomputationsApart) {
  const Leaves& l = leaves();
  Expr original = log(1 + sqr(l.x));
  auto again = [](const Expr& e, std::vector<Expr> inputs) {
    auto node = std::make_shared<Node>();
    node->op = e.node().op;
    node->inputs = std::move(inputs);
    node->types = e.node().types;
    node->recompute = 1;
    node->serial = next_serial();
    node->self = node;
    return Expr(node);
  };
  Expr square = again(sqr(l.x), {l.x});
  Expr sum = again(1 + sqr(l.x), {Operand(1.0).expr(), square});
  Expr second = again(original, {sum});
  std::vector<Expr> out = stabilize(graph_of({original, second}), {}).outputs;
  EXPECT_TRUE(is_op(out[0], log1p_op()));
  EXPECT_TRUE(is_op(out[1], log1p_op()));
  EXPECT_FALSE(out[0].same(out[1]));
  EXPECT_EQ(out[1].node().recompute, 1);
  EXPECT_EQ(input_of(out[1], 0).node().recompute, 1);
}

TEST(ApplyRules, IsDeterministic) {
  const Leaves& l = leaves();
  auto text = [&] {
    Expr p = 1 / (1 + exp(-l.x)), e = (l.y / p - (1 - l.y) / (1 - p)) * p * (1 - p) + l.x * 2 + l.y + l.x;
    return graph_text(stabilize(canonicalize(graph_of({e}), {}), {}));
  };
  std::string first = text();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(text(), first);
}

TEST(ApplyRules, IsLinearInLongChains) {
  Expr sum = leaves().x;
  for (int i = 0; i < 20000; ++i) sum = i % 2 ? sum + leaves().y : tanh(sum) * leaves().z;
  Graph out = stabilize(canonicalize(graph_of({sum}), {}), {});
  EXPECT_EQ(node_count(out), node_count(graph_of({sum})));
}

}  // namespace
}  // namespace thtrain
