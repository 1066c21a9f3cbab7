// The token of the effects in a graph, and what notices where it is lost.
#include "compiler/ir/effects.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/registry.h"
#include "compiler/passes/pipeline.h"

namespace thtrain {
namespace {

Expr token_of(const Expr& effect) {
  const Node& node = effect.node();
  return node[node.types.size() - 1];
}

TEST(ThreadEffects, AGraphWithoutEffectsStaysTheSame) {
  Expr x = vector("x", {2});
  const Graph graph{.inputs = {x}, .outputs = {x + 1, x + 1}, .updates = {}};
  const Graph out = thread_effects(graph);
  EXPECT_TRUE(same_roots(graph, out));
  EXPECT_TRUE(out.effects.empty());
}

TEST(ThreadEffects, EachTakesTheTokenOfTheOneBefore) {
  Expr x = vector("x", {2});
  Expr a = print(x, "a"), b = print(a + 1, "b"), c = print(x, "c");
  const Graph out = thread_effects({.inputs = {x}, .outputs = {b}, .updates = {}, .effects = {c, a}});
  EXPECT_EQ(graph_text(out),
            "input  %0 x : float64[2]\n"
            "%1 = start_token() : token\n"
            "%2 = print(%0, %1) {label=\"a\"} : float64[2]; token\n"
            "%3 = constant() {value=float64[]{1}} : float64[]\n"
            "%4 = add(%2.0, %3) : float64[2]\n"
            "%5 = print(%4, %2.1) {label=\"b\"} : float64[2]; token\n"
            "%6 = print(%0, %5.1) {label=\"c\"} : float64[2]; token\n"
            "output  %5.0\n"
            "effect  %6.1\n");
  verify(out, "threading");
  EXPECT_EQ(graph_text(thread_effects(out)), graph_text(out)) << "a second time";
}

TEST(ThreadEffects, ABodyTakesTheTokenAndGivesIt) {
  Expr x = vector("x", {2});
  auto iteration = [](const std::vector<Expr>& s) { return std::vector{print(s[0], "iteration") + 1}; };
  Expr loop = repeat(2, {x}, iteration)[0];
  EXPECT_TRUE(has_effect(loop.node()));
  EXPECT_FALSE(carries_token(*loop.node().bodies[0]));
  EXPECT_EQ(loop.node().types.size(), 2u);
  const Graph out = thread_effects({.inputs = {x}, .outputs = {loop}, .updates = {}});
  const Node& made = out.outputs[0].node();
  const Graph& body = *made.bodies[0];
  EXPECT_TRUE(carries_token(body));
  EXPECT_TRUE(body.effects.empty());
  EXPECT_EQ(body.inputs.back().type(), token_type());
  EXPECT_EQ(made.inputs.back().node().op, &start_token_op());
  EXPECT_TRUE(out.effects[0].same(token_of(out.outputs[0])));
  verify(out, "threading");
}

TEST(EffectScope, ScopesNestAndTakeEffectsAlone) {
  Expr x = vector("x", {2});
  EffectScope outer;
  Expr a = print(x, "a");
  {
    EffectScope inner;
    Expr b = print(a + 1, "b");
    ASSERT_EQ(inner.effects().size(), 1u);
    EXPECT_TRUE(inner.effects()[0].same(b));
  }
  Expr c = print(x, "c");
  Expr copy = substitute(std::vector{c}, std::vector<std::pair<Expr, Expr>>{{x, x + 1}})[0];  // built by nobody
  ASSERT_EQ(outer.effects().size(), 2u);
  EXPECT_TRUE(outer.effects()[0].same(a));
  EXPECT_TRUE(outer.effects()[1].same(c));
}

TEST(EffectScope, AThrowingBodyClosesItsScope) {
  Expr x = vector("x", {2});
  EffectScope outer;
  auto body = [](const std::vector<Expr>&) -> std::vector<Expr> { throw 1; };
  EXPECT_THROW(repeat(1, {x}, body), int);
  Expr a = print(x, "a");
  EXPECT_EQ(outer.effects().size(), 1u);
}

TEST(WithoutEffects, TheValuesStay) {
  Expr x = vector("x", {2});
  Expr a = print(x, "a"), b = print(a * 2, "b");
  const Graph plain{.inputs = {x}, .outputs = {b + 1}, .updates = {}, .effects = {a}};
  const std::string expected = graph_text({.inputs = {x}, .outputs = {x * 2 + 1}, .updates = {}});
  EXPECT_EQ(graph_text(without_effects(plain)), expected);
  EXPECT_EQ(graph_text(without_effects(thread_effects(plain))), expected);
}

TEST(SameGraph, PrintsAreComparedByWhatTheyAreAndCounted) {
  Expr x = vector("x", {2});
  auto twice = [&] { return Graph{.inputs = {x}, .outputs = {print(x, "a") + print(x, "a")}, .updates = {}}; };
  Expr once = print(x, "a");
  EXPECT_TRUE(same_graph(twice(), twice()));
  EXPECT_TRUE(same_graph(thread_effects(twice()), thread_effects(twice())));
  EXPECT_FALSE(same_graph(twice(), {.inputs = {x}, .outputs = {once + once}, .updates = {}}));
  EXPECT_FALSE(same_graph(twice(), {.inputs = {x}, .outputs = {print(x, "b") + print(x, "b")}, .updates = {}}));
}

TEST(GraphText, EffectsThatNobodyReadsAreReadBack) {
  Expr x = vector("x", {2});
  Expr loop = repeat(2, {x}, [](const std::vector<Expr>& s) {
    print(s[0], "iteration");
    return s;
  })[0];
  const Graph graph{.inputs = {x}, .outputs = {loop}, .updates = {}, .effects = {print(x, "a")}};
  for (const Graph& g : {graph, thread_effects(graph)}) {
    const Graph back = parse_graph(graph_text(g), find_op);
    EXPECT_EQ(graph_text(back), graph_text(g));
    EXPECT_TRUE(same_graph(back, g));
    EXPECT_EQ(graph_text(thread_effects(back)), graph_text(thread_effects(g)));
  }
}

// What the InternalError says that `action` throws.
template <class Action>
std::string fault(Action action) {
  try {
    action();
  } catch (const InternalError& error) {
    return error.messages()[0].what;
  }
  return "no fault";
}

// ---- what the verifier sees ----------------------------------------------------------------------------------------

TEST(Verify, APassThatLosesTheEffectsIsNamed) {
  Expr x = vector("x", {2});
  Expr a = print(x, "a"), b = print(x * 2, "b");
  const Graph graph = thread_effects({.inputs = {x}, .outputs = {a, b}, .updates = {}});
  Graph lost = graph;
  lost.effects.clear();
  EXPECT_EQ(fault([&] { verify(lost, "lose"); }), "after lose: 0 take the token of print");
  const Pass lose{"lose", "print(x) -> ", [](const Graph& given, const PassContext&) {
                    Graph out = given;
                    out.outputs = {given.inputs[0], given.inputs[0]};
                    out.effects.clear();
                    return out;
                  }};
  EXPECT_EQ(fault([&] { optimize(graph, {.extra = {lose}, .verify = true}); }), "after lose: the effects are gone");
}

TEST(Verify, TwoThatTakeOneTokenAreNamed) {
  Expr x = vector("x", {2});
  Graph graph = thread_effects({.inputs = {x}, .outputs = {print(x, "a")}, .updates = {}});
  const Node& first = graph.outputs[0].node();
  std::shared_ptr<const Node> second = make_node(print_op(), {x, first[1]}, {{"label", std::string("b")}});
  std::shared_ptr<const Node> third = make_node(print_op(), {x, first[1]}, {{"label", std::string("c")}});
  graph.effects = {Expr(second, 1), Expr(third, 1)};
  EXPECT_EQ(fault([&] { verify(graph, "fork"); }), "after fork: 2 take the token of print");
}

}  // namespace
}  // namespace thtrain
