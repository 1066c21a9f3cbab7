// What is told of the nodes of a training step: forward, gradient, update.
#include "compiler/ir/roles.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/plan/program.h"
#include "compiler/plan/step_roles.h"

namespace thtrain {
namespace {

struct TrainingStep {
  Expr x = matrix("x", {"n", 3});
  Shared w{Tensor::zeros(DType::kFloat64, {3, 2}), "W"}, velocity{Tensor::zeros(DType::kFloat64, {3, 2}), "v"};
  Expr hidden = tanh(dot(x, w)), cost = mean(sqr(hidden));
  Expr slope = grad(cost, w);
  Expr kept = 0.9 * velocity, step = kept - 0.1 * slope;
  Graph graph{{x}, {cost}, {{velocity, step}, {w, w + step}}};
};

std::string role(const NodeMap<Roles>& roles, const Expr& value) {
  return text_of(roles.at(&value.node()));
}

TEST(Roles, OfATrainingStep) {
  const TrainingStep s;
  const NodeMap<Roles> roles = roles_of(s.graph);
  EXPECT_EQ(role(roles, s.hidden), "forward");
  EXPECT_EQ(role(roles, s.cost), "forward");
  EXPECT_EQ(role(roles, s.slope), "gradient");
  EXPECT_EQ(role(roles, s.kept), "update") << "it reads no gradient, but only an update needs it";
  EXPECT_EQ(role(roles, s.step), "update");
  EXPECT_EQ(role(roles, s.x), "") << "a leaf";
}

TEST(Roles, AGradientKeepsTheLayerOfWhatWasDifferentiated) {
  Expr x = vector("x"), y;
  {
    Scope scope("hidden");
    y = tanh(x);
  }
  Expr dx = grad(sum(y), x);
  EXPECT_TRUE(dx.node().origin.in_gradient);
  EXPECT_EQ(dx.node().origin.scope->path, "hidden");
  EXPECT_EQ(dx.node().origin.line, y.node().origin.line);
  EXPECT_FALSE(y.node().origin.in_gradient);
}

TEST(Roles, ForwardModeIsAGradientToo) {
  Expr x = vector("x"), v = vector("v", x.dims());
  Expr y = tanh(x), dy = jvp(y, x, v);
  EXPECT_EQ(role(roles_of({{x, v}, {y, dy}, {}}), dy), "gradient");
  EXPECT_EQ(role(roles_of({{x, v}, {y, dy}, {}}), y), "forward");
}

TEST(Roles, AGradientOfAGradient) {
  Shared w(Tensor::vector({1.0, 2.0}), "w");
  Expr x = vector("x", {2}), slope = grad(sum(tanh(x * w)), x), penalty = sum(sqr(slope));
  Expr second = grad(penalty, w);
  const NodeMap<Roles> roles = roles_of({{x}, {penalty}, {{w, w - second}}});
  EXPECT_EQ(role(roles, slope), "gradient");
  EXPECT_EQ(role(roles, second), "gradient");
}

// A recurrence's first state of zeros becomes one node with zeros of its gradient.
TEST(Roles, WhatIsComputedFromConstantsAloneIsNoGradientOfItsReaders) {
  TrainingStep s;
  const Expr ones = grad(sum(s.x), s.x), hidden = tanh(dot(s.x + ones, s.w)), cost = mean(sqr(hidden));
  ASSERT_TRUE(ones.node().origin.in_gradient);
  const NodeMap<Roles> roles = roles_of({{s.x}, {cost}, {{s.w, s.w - grad(cost, s.w)}}});
  EXPECT_EQ(role(roles, hidden), "forward");
  EXPECT_EQ(role(roles, cost), "forward");
}

TEST(Roles, InTheTextOfAGraph) {
  Expr x = scalar("x");
  Shared w(3.0, "w");
  Expr cost = named(sqr(w * x), "cost");
  EXPECT_EQ(text_with_roles({{x}, {cost}, {{w, w - grad(cost, w)}}}),
            "input  %0 x : float64[]\n"
            "shared %1 w : float64[]\n"
            "%2 = mul(%1, %0) : float64[]\n"
            "%3 = sqr(%2) : float64[]  # cost\n"
            "%4 = constant() {value=float64[]{1}} : float64[]\n"
            "%5 = constant() {value=float64[]{2}} : float64[]\n"
            "%6 = mul(%2, %5) : float64[]  # gradient\n"
            "%7 = mul(%4, %6) : float64[]  # gradient\n"
            "%8 = mul(%7, %0) : float64[]  # gradient\n"
            "%9 = sub(%1, %8) : float64[]  # update\n"
            "output  %3\n"
            "update  %1 <- %9\n");
  EXPECT_EQ(graph_text({{x}, {cost}, {}}), text_with_roles({{x}, {cost}, {}})) << "nothing to tell";
  EXPECT_EQ(graph_text({{x}, {cost}, {}},
                       [&] {
                         NodeNotes notes;
                         notes[&cost.node()] = "a note";
                         return notes;
                       }()),
            "input  %0 x : float64[]\n"
            "shared %1 w : float64[]\n"
            "%2 = mul(%1, %0) : float64[]\n"
            "%3 = sqr(%2) : float64[]  # cost, a note\n"
            "output  %3\n");
}

TEST(Roles, OfStepsAfterFusion) {
  const TrainingStep s;
  Function f = function({s.x}, {s.cost}, s.graph.updates, {.threads = 1});
  const Explanation told = f.explain();
  size_t steps = 0;
  for_each_step(told.plan->body, [&](const Step&) { ++steps; });
  const std::vector<Roles> roles = step_roles(*told.plan);
  ASSERT_EQ(roles.size(), steps);
  Roles all;
  for (const Roles& own : roles) {
    EXPECT_TRUE(own.any());
    all |= own;
  }
  EXPECT_TRUE(all.forward && all.gradient && all.update);
  EXPECT_NE(told.program.find("  # forward\n"), std::string::npos) << told.program;
  EXPECT_NE(told.program.find("gradient"), std::string::npos);

  Roles of_nodes;
  const Graph& after = told.passes.back().after;
  const NodeMap<Roles> fused = roles_of(after);
  for (const Node* node : text_order(after))
    if (const Roles* own = fused.find(node)) of_nodes |= *own;
  EXPECT_TRUE(of_nodes.forward && of_nodes.gradient && of_nodes.update);
}

TEST(Roles, InTheProfile) {
  const TrainingStep s;
  Function f = function({s.x}, {s.cost}, s.graph.updates, {.threads = 1});
  f.start_profile();
  f({Tensor::zeros(DType::kFloat64, {5, 3})});
  bool has_update = false;
  for (const StepProfile& step : f.profile().steps) {
    EXPECT_NE(step.role, "") << step.code;
    has_update = has_update || step.role.find("update") != std::string::npos;
  }
  EXPECT_TRUE(has_update);
}

}  // namespace
}  // namespace thtrain
