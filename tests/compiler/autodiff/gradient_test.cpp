// What grad() promises beyond the rules of single ops: connection, constants, known cotangents, order two, long chains.
#include "compiler/autodiff/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "compiler/base/random_state.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/registry.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "tests/support/error_text.h"

namespace thtrain::gradient_test {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

std::string built_at(int line) {
  return str("  node:     built at ", __FILE__, ":", line);
}

double value_of(const Expr& scalar, const Bindings& inputs) {
  return evaluate({scalar}, inputs)[0].as_double();
}

Tensor drawn(const Shape& shape, int64_t seed) {
  RandomState random(seed);
  return Tensor::of(random.uniform(-1.5, 1.5, static_cast<size_t>(element_count(shape))), shape);
}

// Every element of `gradient` against differences of the cost.
void expect_derivative(const Expr& gradient, const Expr& cost, const Expr& x, const Bindings& at, double bound = 1e-6) {
  Tensor exact = evaluate({gradient}, at)[0];
  Bindings moved = at;
  auto index = std::find_if(moved.begin(), moved.end(), [&](const auto& entry) { return entry.first.same(x); });
  Tensor value = index->second;
  ASSERT_EQ(exact.shape(), value.shape());
  const double step = 1e-6;
  for (int64_t i = 0; i < value.size(); ++i) {
    auto cost_at = [&](double change) {
      index->second = value.copy();
      index->second.data<double>()[i] += change;
      return value_of(cost, moved);
    };
    double numeric = (cost_at(step) - cost_at(-step)) / (2 * step), want = exact.as_double(i);
    EXPECT_NEAR(numeric, want, bound * std::max(1.0, std::abs(want))) << "element " << i;
  }
}

// ---- connection ----------------------------------------------------------------------------------------------------

TEST(Grad, ADisconnectedVariableIsAnErrorAWarningOrZeros) {
  Expr x = vector("x", {3});
  int line = __LINE__ + 1;
  Expr y = vector("y", {3});
  Expr cost = sum(sqr(x));
  std::string what = "grad: the cost does not depend on y float64[3]\n";
  std::string hint =
      "\n  hint:     leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}";
  std::string got = "  got:      no path of the graph leads from y to the cost\n";
  EXPECT_EQ(text_without_node([&] { grad(cost, {x, y}); }), str("error: ", what, got, hint.substr(1)));

  testing::internal::CaptureStderr();
  int called = __LINE__ + 1;
  std::vector<Expr> warned = grad(cost, {x, y}, {.disconnected = Disconnected::kWarn});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            str("warning: ", what, got, built_at(line), "; grad is called at ", __FILE__, ":", called, hint, "\n"));
  testing::internal::CaptureStderr();
  std::vector<Expr> silent = grad(cost, {x, y}, {.disconnected = Disconnected::kZero});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const std::vector<Expr>& gradients : {warned, silent}) {
    EXPECT_EQ(gradients[1].type(), y.type());
    EXPECT_EQ(evaluate({gradients[1]}, {{y, Tensor::vector({1.0, 2.0, 3.0})}})[0].text(), "[0, 0, 0]");
  }
}

TEST(Grad, RoundingAndComparisonsConnectNothing) {
  Expr x = vector("x", {2});
  for (const Expr& cost : {sum(switch_(gt(x, 0), 1.0, 2.0)), sum(cast(argmax(x), DType::kFloat64)),
                           sum(cast(cast(x, DType::kInt32), DType::kFloat64)), sum(zeros_like(x))}) {
    std::string text = text_without_node([&] { grad(cost, x); });
    EXPECT_TRUE(text.starts_with("error: grad: the cost does not depend on x float64[2]")) << text;
  }
}

// y0, y1 = pair(x, z): y0 = x z, y1 = z. The second output does not depend on the first input, whatever the rule
// returns.
const Op& pair_op() {
  static const Op op{
      .name = "pair",
      .doc = "y0 = x z, y1 = z",
      .infer =
          [](const TypeArgs& a) {
            return std::vector<Type>{a.type(0), a.type(1)};
          },
      .reference =
          [](const ReferenceArgs& a) {
            Tensor product = a.make_output(0);
            for (int64_t i = 0; i < product.size(); ++i)
              product.data<double>()[i] = a.inputs[0].as_double(i) * a.inputs[1].as_double(i);
            return std::vector<Tensor>{product, a.inputs[1].copy()};
          },
      .gradient =
          [](const GradientArgs& a) {
            const Expr first = a.cotangents[0].has_value() ? a.cotangents[0] : zeros_like(a.input(0));
            const Expr second = first * a.input(0);
            return std::vector<Expr>{first * a.input(1),
                                     a.cotangents[1].has_value() ? second + a.cotangents[1] : second};
          },
      .connection = [](const Node&, size_t input, size_t output) { return !(input == 0 && output == 1); }};
  return op;
}

// Fails where a cotangent reaches it.
const Op& unreached_op() {
  static const Op op{.name = "unreached",
                     .doc = "y = x",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0].copy()}; },
                     .gradient = [](const GradientArgs&) -> std::vector<Expr> {
                       throw InternalError({.what = "the gradient of unreached is asked for"});
                     }};
  return op;
}

TEST(Grad, TheConnectionOfAnOpDecidesWhichOutputDependsOnWhichInput) {
  Expr x = vector("x", {2}), z = vector("z", {2});
  const std::shared_ptr<const Node> both = make_node(pair_op(), {x, z});
  Expr first = sum((*both)[0]), second = sum((*both)[1]);
  const std::string text = text_without_node([&] { grad(second, x); });
  EXPECT_NE(text.find("the path from x ends at pair(x, z)"), std::string::npos) << text;
  EXPECT_TRUE(text_without_node([&] {
                grad(second, {z, x});
              }).starts_with("error: grad: the cost does not depend on x"));
  Bindings at{{x, Tensor::vector({0.5, 2.0})}, {z, Tensor::vector({3.0, -1.0})}};
  for (const Expr& cost : {first, second, first + second}) expect_derivative(grad(cost, z), cost, z, at);
  for (const Expr& cost : {first, first + second}) expect_derivative(grad(cost, x), cost, x, at);
}

TEST(Grad, NoRuleIsAskedForWhatNoOutputIsConnectedTo) {
  Expr x = vector("x", {2}), below = apply(unreached_op(), {x});
  const std::shared_ptr<const Node> both = make_node(pair_op(), {below, x});
  EXPECT_EQ(evaluate({grad(sum((*both)[1]), x)}, {{x, Tensor::vector({1.0, 2.0})}})[0].text(), "[1, 1]");
  // Of two values of one node, the one that the derivative is taken to.
  EXPECT_EQ(evaluate({grad(sum(sqr((*both)[1])), (*both)[1])}, {{x, Tensor::vector({1.0, 2.0})}})[0].text(), "[2, 4]");
  std::string text = text_without_node([&] { grad(sum(sqr((*both)[1])), (*both)[0]); });
  EXPECT_TRUE(text.starts_with("error: grad: the cost does not depend on pair float64[2]")) << text;
}

// What a gradient rule gives is used only where the op says that there is a connection.
TEST(Grad, EveryRuleGivesCotangentsOnlyWhereItsOpIsConnected) {
  const std::function<std::vector<Expr>(std::span<const Expr>, std::span<const Expr>, std::span<const Expr>)>
      differentiate = [](std::span<const Expr> outputs, std::span<const Expr> cotangents, std::span<const Expr> wrt) {
        return vector_jacobian(outputs, cotangents, wrt);
      };
  size_t rules = 0;
  for (const Op* op : all_ops()) {
    if (!op->gradient || !op->cases) continue;
    for (const OpCase& row : op->cases()) {
      std::vector<Expr> inputs;
      for (const Type& type : row.inputs) inputs.push_back(make_input(type, str("x", inputs.size())));
      const std::vector<Expr> built = row.build(inputs);
      for (const Node* node : topological_order(built)) {
        if (node->op != op || node->inputs.empty()) continue;
        std::vector<Expr> outputs, cotangents;
        for (size_t o = 0; o < node->types.size(); ++o) {
          const Type& type = node->types[o];
          outputs.push_back((*node)[o]);
          const bool is_float_value =
              type.kind == TypeKind::kTensor && (is_float(type.dtype) || is_complex(type.dtype));
          cotangents.push_back(is_float_value ? make_input(type, "d") : Expr());
        }
        if (std::none_of(cotangents.begin(), cotangents.end(), [](const Expr& e) { return e.has_value(); })) continue;
        const std::vector<Expr> results = op->gradient({*node, outputs, cotangents, differentiate});
        for (size_t i = 0; i < results.size(); ++i) {
          bool connected = false;
          for (size_t o = 0; o < outputs.size(); ++o)
            connected = connected || (cotangents[o].has_value() && is_connected(*node, i, o));
          if (results[i].has_value()) {
            EXPECT_TRUE(connected) << op->name << ", " << row.name << ": input " << i;
          }
        }
        ++rules;
      }
    }
  }
  EXPECT_GT(rules, 300u);
}

TEST(Grad, IntegersHaveNoDerivativeButPassNoneOn) {
  Expr i = ivector("i"), x = vector("x", {5});
  EXPECT_EQ(text_without_node([&] { grad(sum(cast(i, DType::kFloat64)), i); }),
            "error: grad: derivatives are taken with respect to floating values\n  got:      i int64[i.0]\n"
            "  hint:     cast it to float before it is used");
  // As an index, a factor and a power: what is floating with them has its derivative.
  Expr cost = sum(take(x, i) * i) + sum(pow(take(x, i), i));
  expect_derivative(grad(cost, x), cost, x,
                    {{x, Tensor::vector({0.5, 1.5, -0.25, 2.0, 1.0})}, {i, Tensor::vector<int64_t>({4, 0, 2, 3, 0})}});
}

TEST(Grad, TheCostMustBeAFloatingScalar) {
  Expr x = vector("x", {2});
  for (const auto& [cost, got] : {std::pair(sqr(x), "sqr float64[2]"), std::pair(argmax(x), "argmax int64[]")})
    EXPECT_EQ(text_without_node([&] { grad(cost, x); }),
              str("error: grad: the cost must be a floating scalar\n  got:      ", got,
                  "\n  hint:     take its sum or mean first"));
}

// ---- constants and known cotangents --------------------------------------------------------------------------------

TEST(Grad, WhatIsConsideredConstantStopsTheWay) {
  Expr x = scalar("x"), square = sqr(x), y = square * x;
  Bindings at{{x, Tensor(3.0)}};
  EXPECT_EQ(value_of(grad(y, x), at), 27.0);
  EXPECT_EQ(value_of(grad(y, x, {.consider_constant = {square}}), at), 9.0);
  std::string text = text_without_node([&] { grad(y, x, {.consider_constant = {square, y}}); });
  EXPECT_TRUE(text.starts_with("error: grad: the cost does not depend on x float64[]")) << text;
  // The derivative with respect to an inner value stops nothing that does not pass it.
  EXPECT_EQ(value_of(grad(y, std::vector<Expr>{square, x})[0], at), 3.0);
  EXPECT_EQ(value_of(grad(y, std::vector<Expr>{square, x})[1], at), 27.0);
}

TEST(Grad, KnownCotangentsStandForTheRestOfTheCost) {
  Expr x = vector("x", {3}), hidden = tanh(x), given = vector("given", {3});
  Bindings at{{x, drawn({3}, 1)}, {given, drawn({3}, 2)}};
  // With them alone: the vector-Jacobian product.
  Expr alone = grad(Expr(), x, {.known_grads = {{hidden, given}}});
  expect_derivative(alone, sum(hidden * given), x, at);
  // With a cost they add to it.
  Expr both = grad(sum(sqr(x)), x, {.known_grads = {{hidden, given}}});
  expect_derivative(both, sum(sqr(x)) + sum(hidden * given), x, at);
  // Of a value that the cost itself passes through.
  Expr inner = grad(sum(exp(hidden)), x, {.known_grads = {{hidden, given}}});
  expect_derivative(inner, sum(exp(hidden)) + sum(hidden * given), x, at);
  EXPECT_EQ(text_without_node([&] {
              grad(Expr(), x, {.known_grads = {{hidden, scalar("s")}}});
            }),
            "error: grad: a known gradient must have the type of its value\n"
            "  expected: tanh float64[3]\n  got:      s float64[]");
}

// ---- values that are read in several ways --------------------------------------------------------------------------

TEST(Grad, SeveralOutputsOfOneNode) {
  Expr x = scalar("x"), y = scalar("y");
  auto [quotient, rest] = divmod(x, y);
  Bindings at{{x, Tensor(7.25)}, {y, Tensor(2.0)}};
  // x mod y = x - y * floor(x / y): one output has a derivative, the other is a step function.
  std::vector<Expr> g = grad(rest * 3 + quotient * 0, {x, y});
  EXPECT_EQ(value_of(g[0], at), 3.0);
  EXPECT_EQ(value_of(g[1], at), -9.0);
  // Each output of a loop with two states, alone and together.
  std::vector<Expr> last = repeat(3, {x, y}, [](const std::vector<Expr>& s) {
    return std::vector<Expr>{s[0] * s[1] / 4, s[1] + tanh(s[0])};
  });
  for (const Expr& cost : {last[0], last[1], last[0] * last[1]})
    for (const Expr& variable : {x, y}) expect_derivative(grad(cost, variable), cost, variable, at);
}

TEST(Grad, AValueWithManyReadersSumsTheirCotangents) {
  Expr x = scalar("x"), y = x;
  for (int i = 0; i < 10; ++i) y = y + x * y;  // y = x (1 + x)^10
  expect_derivative(grad(y, x), y, x, {{x, Tensor(0.3)}});
}

// ---- order two -----------------------------------------------------------------------------------------------------

TEST(Grad, SecondDerivativesAgreeWithDifferences) {
  Expr x = matrix("x", {3, 4}), w = matrix("w", {4, 2}), b = vector("b", {2});
  Bindings at{{x, drawn({3, 4}, 1)}, {w, drawn({4, 2}, 2)}, {b, drawn({2}, 3)}};
  std::vector<Expr> costs{
      sum(tanh(dot(x, w) + b)),
      mean(sqr(softmax(dot(x, w)))),
      sum(log(1 + exp(dot(x, w)))) + sum(sqr(w) * sum(x)),
      sum(max(sqr(x), {1})) + sum(sqr(subtensor(w, {all(), 1}))),
  };
  for (size_t k = 0; k < costs.size(); ++k) {
    SCOPED_TRACE(k);
    for (const Expr& variable : {x, w}) {
      // A directional derivative is a scalar again.
      Expr direction = make_constant(drawn(variable.type().known_shape(), 9));
      Expr slope = sum(grad(costs[k], variable) * direction);
      expect_derivative(grad(slope, variable, {.disconnected = Disconnected::kZero}), slope, variable, at, 1e-5);
    }
  }
}

// d^k/dx^k exp(2x) = 2^k exp(2x).
TEST(Grad, ManyOrders) {
  Expr x = scalar("x"), y = exp(2 * x);
  for (int order = 1; order <= 6; ++order) {
    y = grad(y, x);
    EXPECT_NEAR(value_of(y, {{x, Tensor(0.25)}}), std::ldexp(std::exp(0.5), order), 1e-12 * std::ldexp(1, order));
  }
}

// ---- views ---------------------------------------------------------------------------------------------------------

// Every op that has a view rule is here, so that a new one is missed.
TEST(Grad, ThroughEveryView) {
  Expr x = tensor("x", {3, 1, 4}, DType::kFloat64), m = tensor("m", {3, 4}, DType::kFloat64);
  Expr open = tensor("open", {"a", "b"}, DType::kFloat64);
  std::vector<std::pair<Expr, Expr>> views{// the view, what it is of
                                           {transpose(x, {2, 0, 1}), x},
                                           {dimshuffle(x, {2, -1, 0}), x},
                                           {reshape(m, {2, 6}), m},
                                           {reshape(transpose(m), {2, 6}), m},
                                           {flatten(x, 2), x},
                                           {broadcast_to(x, {3, 5, 4}), x},
                                           {broadcast_to(m, {2, 3, 4}), m},
                                           {subtensor(m, {Slice{.step = -2}, Slice{.start = 1, .stop = -1}}), m},
                                           {subtensor(m, {2}), m},
                                           {rows(m, 1, 2), m},
                                           {windows(m, {1}, {3}, {1}), m},
                                           {specify_lengths(open, {3, 4}), open},
                                           {on_host(m), m},
                                           {stable_gradient(m, 2 * m), m}};
  std::set<const Op*> met;
  for (const auto& [view, of] : views) {
    std::vector<Expr> way{view};
    for (const Node* node : topological_order(way)) met.insert(node->op);
    SCOPED_TRACE(view.node().op->name);
    Expr cost = sum(exp(view) * make_constant(drawn(view.type().known_shape(), 5)));
    expect_derivative(grad(cost, of), cost, of, {{of, drawn(of.same(x) ? Shape{3, 1, 4} : Shape{3, 4}, 4)}});
  }
  for (const Op* op : all_ops())
    if (view_rule(*op, 0) && op->gradient && !op->only_derivatives) {
      EXPECT_TRUE(met.count(op)) << op->name;
    }
}

// ---- size ----------------------------------------------------------------------------------------------------------

TEST(Grad, ALongChainIsLinearAndNeedsNoStack) {
  auto chain = [](int length) {
    Expr x = scalar("x"), y = x;
    for (int i = 0; i < length; ++i) y = i % 2 ? tanh(y) : y * 1.5 + x;
    return std::pair(x, y);
  };
  auto [x, y] = chain(100'000);
  auto [small_x, small_y] = chain(10'000);
  const Expr gradient = grad(y, x), small = grad(small_y, small_x);
  auto nodes = [](const Expr& value) { return node_count({.inputs = {}, .outputs = {value}, .updates = {}}); };
  EXPECT_LT(nodes(gradient), 1'500'000u);
  EXPECT_LT(nodes(gradient), 11 * nodes(small));
  // Its value is that of a short one: the chain settles at a fixed point y = tanh(1.5 y + x).
  EXPECT_NEAR(value_of(gradient, {{x, Tensor(0.5)}}), value_of(small, {{small_x, Tensor(0.5)}}), 1e-12);
}

}  // namespace
}  // namespace thtrain::gradient_test
