// What jvp() promises beyond the rules of single ops: known values, the transpose of grad, Hessians, cost, messages.
#include "compiler/autodiff/forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compiler/base/random_state.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/cost.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain::forward_test {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

double value_of(const Expr& scalar, const Bindings& inputs) {
  return evaluate({scalar}, inputs)[0].as_double();
}

Tensor drawn(const Shape& shape, int64_t seed) {
  RandomState random(seed);
  return Tensor::of(random.uniform(-1.5, 1.5, static_cast<size_t>(element_count(shape))), shape);
}

void expect_near(const Tensor& got, const Tensor& want, double bound = 1e-12) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.as_double(i), want.as_double(i), bound * std::max(1.0, std::abs(want.as_double(i))))
        << "element " << i;
}

// Floating-point operations of the optimized graph.
int64_t flops_of(const std::vector<Expr>& outputs) {
  Graph graph{.inputs = {}, .outputs = outputs, .updates = {}};
  for (const Expr& leaf : leaves_of(outputs)) graph.inputs.push_back(leaf);
  graph = optimize(graph, {.verify = true});
  Dim flops = 0;
  for (const Node* node : topological_order(graph.outputs))
    if (!node->inputs.empty()) flops = flops + cost_of(*node).flops;
  return flops.value();
}

// ---- values --------------------------------------------------------------------------------------------------------

TEST(Jvp, KnownValues) {
  Expr x = scalar("x"), y = scalar("y"), dx = scalar("dx"), dy = scalar("dy");
  Bindings at{{x, Tensor(2.0)}, {y, Tensor(4.0)}, {dx, Tensor(3.0)}, {dy, Tensor(-1.0)}};
  EXPECT_EQ(value_of(jvp(sqr(x), x, dx), at), 12);
  const std::vector<std::pair<Expr, double>> cases{
      {x * y, 2 * -1 + 4 * 3.0},
      {x / y, (3.0 * 4 - 2 * -1) / 16},
      {maximum(x, y), -1},
      {switch_(gt(x, 1), x, y), 3},
      {log(x), 1.5},
      {pow(x, 3), 3 * 4 * 3},
      {mod(y, x), -1 - 3 * 2},
  };
  for (size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE(k);
    EXPECT_NEAR(value_of(jvp({cases[k].first}, {x, y}, {dx, dy}, {.disconnected = Disconnected::kZero})[0], at),
                cases[k].second, 1e-14);
  }
}

TEST(Jvp, OfALinearMapIsTheMap) {
  Expr x = vector("x", {3}), dx = vector("dx", {3});
  Tensor a = drawn({2, 3}, 1);
  Bindings at{{x, drawn({3}, 2)}, {dx, drawn({3}, 3)}};
  Expr y = dot(make_constant(a), x), same = dot(make_constant(a), dx);
  expect_near(evaluate({jvp(y, x, dx)}, at)[0], evaluate({same}, at)[0]);
  // Also where parts are taken, written and joined.
  auto map = [](const Expr& v) {
    Expr w = inc_subtensor(v[Slice{.start = 1}], v[Slice{.stop = 2}] * 2);
    return join(0, {w[Slice{.step = -1}], take(v, make_constant(Tensor::vector<int64_t>({2, 0, 2}))),
                    expand_dims(sum(v), {0})});
  };
  EXPECT_EQ(evaluate({jvp(map(x), x, dx)}, at)[0].text(), evaluate({map(dx)}, at)[0].text());
}

TEST(Jvp, RopAndLopAreJvpAndVjp) {
  Expr x = vector("x", {3}), dx = vector("dx", {3}), u = vector("u", {3});
  Bindings at{{x, drawn({3}, 1)}, {dx, drawn({3}, 2)}, {u, drawn({3}, 3)}};
  Expr y = tanh(x);
  expect_near(evaluate({Rop(y, x, dx)}, at)[0], evaluate({jvp(y, x, dx)}, at)[0], 0);
  expect_near(evaluate({Lop(y, x, u)}, at)[0], evaluate({grad(Expr(), x, {.known_grads = {{y, u}}})}, at)[0], 0);
  EXPECT_EQ(Rop(std::vector{y}, std::vector{x}, std::vector{dx}).size(), 1u);
  EXPECT_EQ(Lop(std::vector{y}, std::vector{x}, std::vector{u}).size(), 1u);
}

// What one node gives twice, what several readers read, and inner values: J is grad's J.
TEST(Jvp, IsTheTransposeOfGradForInnerValuesToo) {
  Expr x = vector("x", {3}), h = sqr(x), y = sum(h * exp(x)), z = h[0] + sum(h);
  Expr dx = vector("dx", {3}), dh = vector("dh", {3}), u = scalar("u"), v = scalar("v");
  Bindings at{{x, drawn({3}, 1)}, {dx, drawn({3}, 2)}, {dh, drawn({3}, 3)}, {u, Tensor(1.5)}, {v, Tensor(-0.5)}};
  std::vector<Expr> forward = jvp({y, z}, {x, h}, {dx, dh});
  std::vector<Expr> reverse = vjp({y, z}, {x, h}, {u, v});
  EXPECT_NEAR(value_of(forward[0] * u + forward[1] * v, at), value_of(sum(reverse[0] * dx) + sum(reverse[1] * dh), at),
              1e-12);
  // A constant stops the way.
  EXPECT_NEAR(value_of(jvp(z + sum(x), x, dx, {.consider_constant = {h}}), at), value_of(sum(dx), at), 1e-12);
}

TEST(Jvp, LengthsOfATangentAreCheckedByTheCall) {
  Expr x = vector("x"), dx = vector("dx");
  Function f = function({x, dx}, {jvp(exp(x) * x, x, dx)});
  EXPECT_NEAR(f({Tensor::vector({0.0, 1.0}), Tensor::vector({2.0, 1.0})})[0].as_double(1), 2 * std::exp(1.0), 1e-14);
  EXPECT_THROW(f({Tensor::vector({0.0, 1.0}), Tensor::vector({2.0, 1.0, 3.0})}), UserError);
}

TEST(Vjp, LengthsOfACotangentAreCheckedByTheCall) {
  Expr x = vector("x"), u = vector("u");
  Function f = function({x, u}, {vjp(exp(x) * x, x, u)});
  EXPECT_NEAR(f({Tensor::vector({0.0, 1.0}), Tensor::vector({2.0, 1.0})})[0].as_double(1), 2 * std::exp(1.0), 1e-14);
  EXPECT_THROW(f({Tensor::vector({0.0, 1.0}), Tensor::vector({2.0, 1.0, 3.0})}), UserError);
}

// ---- two modes -----------------------------------------------------------------------------------------------------

// H v as the tangent of the gradient, compared with the gradient of <gradient, v>.
TEST(Jvp, AHessianVectorProductIsForwardOverReverse) {
  Expr x = matrix("x", {5, 3}), w = matrix("w", {3, 4}), v = matrix("v", {3, 4});
  Expr labels = tensor("labels", {5}, DType::kInt64);
  Bindings at{{x, drawn({5, 3}, 1)},
              {w, drawn({3, 4}, 2)},
              {v, drawn({3, 4}, 3)},
              {labels, Tensor::vector<int64_t>({0, 3, 2, 1, 3})}};
  const std::vector<Expr> costs{sum(tanh(dot(x, w))), mean(sqr(softmax(dot(x, w)))),
                                mean(categorical_crossentropy(softmax(dot(x, w)), labels)), sum(prod(w, {0}))};
  for (size_t k = 0; k < costs.size(); ++k) {
    SCOPED_TRACE(k);
    Expr gradient = grad(costs[k], w);
    expect_near(evaluate({jvp(gradient, w, v)}, at)[0], evaluate({grad(sum(gradient * v), w)}, at)[0], 1e-10);
    // Reverse over forward: the gradient of the slope along v.
    Expr slope = jvp(costs[k], w, v);
    expect_near(evaluate({grad(slope, w)}, at)[0], evaluate({jvp(gradient, w, v)}, at)[0], 1e-10);
  }
}

TEST(Jvp, OfAQuadraticFormTwiceIsItsMatrix) {
  Expr x = vector("x", {3}), v = vector("v", {3});
  Tensor a = Tensor::matrix({{2.0, 1.0, 0.0}, {1.0, 3.0, -1.0}, {0.0, -1.0, 4.0}});
  Expr cost = 0.5 * dot(x, dot(make_constant(a), x));
  Bindings at{{x, drawn({3}, 1)}, {v, Tensor::vector({1.0, -2.0, 3.0})}};
  expect_near(evaluate({jvp(grad(cost, x), x, v)}, at)[0], Tensor::vector({0.0, -8.0, 14.0}), 1e-14);
}

TEST(Jvp, ManyOrders) {
  Expr x = scalar("x"), one = make_constant(Tensor(1.0)), y = exp(2 * x);
  for (int order = 1; order <= 6; ++order) {
    y = jvp(y, x, one);
    EXPECT_NEAR(value_of(y, {{x, Tensor(0.25)}}), std::ldexp(std::exp(0.5), order), 1e-12 * std::ldexp(1, order));
  }
}

TEST(Jvp, IsThatOfTheStableForm) {
  Expr x = vector("x"), dx = vector("dx", x.dims());
  Expr cost = -log(1 - sigmoid(x));
  Function standard = function({x, dx}, {jvp(cost, x, dx)});
  const Tensor values = Tensor::vector({1000.0, -1000.0, 0.0}), directions = Tensor::vector({2.0, 2.0, 2.0});
  expect_near(standard({values, directions})[0], Tensor::vector({2.0, 0.0, 1.0}), 1e-14);
  Function strict = function({x, dx}, {jvp(cost, x, dx)}, {}, {.level = Level::kStrict});
  EXPECT_TRUE(std::isnan(strict({values, directions})[0].as_double(0)));
}

// ---- bodies and ops without a rule ---------------------------------------------------------------------------------

TEST(Jvp, OfALoopIsThatOfDifferences) {
  Expr a = vector("a", {3}), b = vector("b", {3}), c = scalar("c"), da = vector("da", {3}), dc = scalar("dc");
  auto last = [&](const Expr& a_now, const Expr& c_now) {
    return repeat(5, {a_now, b}, [&](const std::vector<Expr>& s) {
      return std::vector<Expr>{tanh(s[1] * c_now), s[0] + 0.5 * s[1]};
    });
  };
  Bindings at{{a, drawn({3}, 1)}, {b, drawn({3}, 2)}, {c, Tensor(0.75)}, {da, drawn({3}, 3)}, {dc, Tensor(-0.5)}};
  const std::vector<Expr> exact = jvp(last(a, c), {a, c}, {da, dc});
  const double step = 1e-6;
  for (size_t o : {0, 1}) {
    Expr slope = (last(a + step * da, c + step * dc)[o] - last(a - step * da, c - step * dc)[o]) / (2 * step);
    expect_near(evaluate({exact[o]}, at)[0], evaluate({slope}, at)[0], 1e-8);
  }
  Function f = function({a, b, c, da, dc}, {exact[0], exact[1]});
  std::vector<Tensor> inputs;
  for (const auto& [variable, value] : at) inputs.push_back(value);
  const std::vector<Tensor> native = f(inputs);
  for (size_t o : {0, 1}) expect_near(native[o], evaluate({exact[o]}, at)[0], 1e-12);
}

// The derivatives of a fused body stop at its inputs, also where one of these is computed from another.
TEST(Jvp, OfAFusedBodyWhoseInputsDependOnEachOther) {
  Expr x = scalar("x"), dx = scalar("dx");
  Expr cube = fused_values(make_fused, {x, sqr(x)},
                           [](const std::vector<Expr>& in) { return std::vector<Expr>{in[0] * in[1]}; })[0];
  Bindings at{{x, Tensor(2.0)}, {dx, Tensor(0.5)}};
  EXPECT_EQ(value_of(jvp(cube, x, dx), at), 6);
  EXPECT_EQ(value_of(grad(cube, x), at), 12);
}

// x -> 2 x, and a gradient that looks at its cotangents though it does not depend on which they are.
const Op& doubled_op() {
  static const Op op{.name = "doubled",
                     .doc = "2 x.",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .gradient =
                         [](const GradientArgs& a) {
                           return std::vector<Expr>{switch_(eq(a.cotangent(), a.cotangent()), a.cotangent() * 2, 0)};
                         }};
  return op;
}

TEST(Jvp, TwoReversePassesLeaveNoInputsOfTheirOwn) {
  Expr x = vector("x", {3}), dx = vector("dx", {3});
  std::vector<Expr> tangent{jvp(apply(doubled_op(), {exp(x)}), x, dx)};
  for (const Expr& leaf : leaves_of(tangent)) EXPECT_TRUE(leaf.same(x) || leaf.same(dx)) << leaf.name();
  Bindings at{{x, drawn({3}, 1)}, {dx, drawn({3}, 2)}};
  expect_near(evaluate(tangent, at)[0], evaluate({2 * exp(x) * dx}, at)[0]);
}

// The derived form of a product with factors, optimized, is the sum that a rule would have written.
TEST(Jvp, WhatTwoReversePassesBuildIsOptimizedToTheRule) {
  Expr c = matrix("c", {8, 8}), a = matrix("a", {8, 8}), b = matrix("b", {8, 8}), da = matrix("da", {8, 8});
  const Expr alpha = make_constant(Tensor(0.5)), beta = make_constant(Tensor(2.0));
  Expr derived = jvp(apply(gemm_op(), {c, alpha, a, b, beta}), a, da);
  EXPECT_EQ(flops_of({derived}), flops_of({0.5 * dot(da, b)}));
}

TEST(Jvp, AnEffectTakesPlaceOnce) {
  Expr x = scalar("x"), dx = scalar("dx");
  Expr y = sqr(print(x, "x")), dy = jvp(y, x, dx);
  Function f = function({x, dx}, {y, dy});
  testing::internal::CaptureStderr();
  EXPECT_EQ(f({Tensor(3.0), Tensor(2.0)})[1].as_double(), 12);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "x: float64[] 3\n");
}

// ---- cost ----------------------------------------------------------------------------------------------------------

TEST(Jvp, OfANetworkCostsAtMostThreeForwardPasses) {
  auto flops = [](int64_t layers) {
    Expr x = matrix("x", {32, 64}), h = x;
    std::vector<Expr> wrt, tangents;
    for (int64_t i = 0; i < layers; ++i) {
      Expr w = matrix("w", {64, 64}), b = vector("b", {64});
      h = tanh(dot(h, w) + b);
      for (const Expr& p : {w, b}) {
        wrt.push_back(p);
        tangents.push_back(make_input(p.type(), "tangent"));
      }
    }
    Expr cost = mean(categorical_crossentropy(softmax(h), argmax(x, 1)));
    Expr along = jvp(std::vector{cost}, wrt, tangents)[0];
    return std::pair(flops_of({cost}), flops_of({cost, along}));
  };
  const auto [forward, both] = flops(4);
  EXPECT_LE(static_cast<double>(both), 3.3 * static_cast<double>(forward));
  EXPECT_GE(static_cast<double>(both), 2 * static_cast<double>(forward));
  // Linear in the depth.
  const auto [deep_forward, deep_both] = flops(8);
  EXPECT_LE(static_cast<double>(deep_both), 2.1 * static_cast<double>(both));
  EXPECT_LE(static_cast<double>(deep_both), 3.3 * static_cast<double>(deep_forward));
}

TEST(Jvp, ALongChainIsLinearAndNeedsNoStack) {
  auto chain = [](int length) {
    Expr x = scalar("x"), y = x;
    for (int i = 0; i < length; ++i) y = i % 2 ? tanh(y) : y * 1.5 + x;
    return std::pair(x, y);
  };
  auto [x, y] = chain(40'000);
  auto [small_x, small_y] = chain(4'000);
  Expr tangent = jvp(y, x, make_constant(Tensor(1.0))), small = jvp(small_y, small_x, make_constant(Tensor(1.0)));
  auto nodes = [](const Expr& value) { return node_count({.inputs = {}, .outputs = {value}, .updates = {}}); };
  EXPECT_LT(nodes(tangent), 11 * nodes(small));
  EXPECT_NEAR(value_of(tangent, {{x, Tensor(0.5)}}), value_of(small, {{small_x, Tensor(0.5)}}), 1e-12);
}

// What does not lead to an output gets no tangent, however much there is of it.
TEST(Jvp, WhatLeadsToNoOutputIsNotDifferentiated) {
  Expr x = vector("x", {3}), dx = vector("dx", {3}), index = argmax(exp(exp(x)));
  Expr tangent = jvp(take(x, index), x, dx);
  size_t exps = 0;
  for (const Node* node : topological_order(std::vector{tangent})) exps += node->op->name == "exp";
  EXPECT_EQ(exps, 2u);
  EXPECT_EQ(value_of(tangent, {{x, Tensor::vector({1.0, 3.0, 2.0})}, {dx, Tensor::vector({5.0, 6.0, 7.0})}}), 6);
}

// ---- messages ------------------------------------------------------------------------------------------------------

TEST(JvpMessages, DisconnectedValuesAreAnErrorAWarningOrZeros) {
  Expr x = vector("x", {2}), y = vector("y", {2}), dx = vector("dx", {2}), dy = vector("dy", {2});
  const std::string zeros = "ask for zeros with JvpOptions{.disconnected = Disconnected::kZero}";
  EXPECT_EQ(text_without_node([&] {
              jvp({exp(x)}, {x, y}, {dx, dy});
            }),
            "error: jvp: no output depends on y float64[2]\n"
            "  got:      no path of the graph leads from y to the outputs\n"
            "  hint:     leave it out of wrt, or " +
                zeros);
  EXPECT_EQ(
      text_without_node([&] {
        jvp({exp(x), sin(y)}, std::vector{x}, {dx});
      }),
      "error: jvp: sin float64[2] depends on nothing in wrt\n  hint:     leave it out of the outputs, or " + zeros);
  // Rounding connects nothing.
  const std::string rounded = text_without_node([&] { jvp(cast(cast(x, DType::kInt32), DType::kFloat64), x, dx); });
  EXPECT_TRUE(
      rounded.starts_with("error: jvp: no output depends on x float64[2]\n  got:      the path from x ends at "
                          "cast(x) int32[2], built at "))
      << rounded;
  testing::internal::CaptureStderr();
  jvp({exp(x)}, {x, y}, {dx, dy}, {.disconnected = Disconnected::kWarn});
  EXPECT_TRUE(testing::internal::GetCapturedStderr().starts_with("warning: jvp: no output depends on y float64[2]\n"));
  testing::internal::CaptureStderr();
  std::vector<Expr> tangents = jvp({exp(x), sin(y)}, std::vector{x}, {dx}, {.disconnected = Disconnected::kZero});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(tangents[1].type() == y.type());
  EXPECT_EQ(evaluate({tangents[1]}, {})[0].text(), "[0, 0]");
}

TEST(JvpMessages, TypesOfTangents) {
  Expr x = vector("x", {2});
  EXPECT_EQ(
      text_without_node([&] { jvp(exp(x), x, vector("dx", {3})); }),
      "error: jvp: a tangent must have the type of its value\n  expected: x float64[2]\n  got:      dx float64[3]");
  EXPECT_EQ(
      text_without_node([&] { jvp(exp(x), x, tensor("dx", {2}, DType::kFloat32)); }),
      "error: jvp: a tangent must have the type of its value\n  expected: x float64[2]\n  got:      dx float32[2]");
  EXPECT_EQ(
      text_without_node([&] { jvp(exp(x), x, scalar("dx")); }),
      "error: jvp: a tangent must have the type of its value\n  expected: x float64[2]\n  got:      dx float64[]");
  EXPECT_EQ(text_without_node([&] {
              jvp({exp(x)}, {x, x}, {x});
            }),
            "error: jvp: there must be as many tangents as values in wrt\n  expected: 2\n  got:      1");
  EXPECT_EQ(text_without_node([&] {
              vjp({exp(x)}, {x}, {x, x});
            }),
            "error: vjp: there must be as many cotangents as outputs\n  expected: 1\n  got:      2");
}

TEST(JvpMessages, IntegersAndEmptyExpressions) {
  Expr x = vector("x", {2}), i = tensor("i", {2}, DType::kInt64);
  EXPECT_EQ(text_without_node([&] { jvp(x * i, i, i); }),
            "error: jvp: derivatives are taken with respect to floating values\n  got:      i int64[2]\n"
            "  hint:     cast it to float before it is used");
  EXPECT_EQ(text_without_node([&] { jvp(argmax(x), x, x); }),
            "error: jvp: derivatives are taken of floating values\n  got:      argmax int64[]\n"
            "  hint:     cast it to float before it is used");
  const std::string built =
      "\n  expected: an expression that was built before\n  got:      Expr(), which has no value\n"
      "  hint:     Expr::has_value() tells whether there is one";
  EXPECT_EQ(text_without_node([&] { jvp(Expr(), x, x); }), "error: jvp: an output is an empty expression" + built);
  EXPECT_EQ(text_without_node([&] { jvp(exp(x), Expr(), x); }),
            "error: jvp: what the derivative is taken to is an empty expression" + built);
  EXPECT_EQ(text_without_node([&] { jvp(exp(x), x, Expr()); }), "error: jvp: a tangent is an empty expression" + built);
}

}  // namespace
}  // namespace thtrain::forward_test
