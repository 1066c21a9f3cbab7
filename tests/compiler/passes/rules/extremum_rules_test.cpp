#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "tests/compiler/passes/rules/rows.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

// Windows of two columns, and of one row and one column.
Expr pooled(const Expr& x) {
  return pool(x, {.window = {2}});
}
Expr single(const Expr& x) {
  return pool(x, {.window = {1, 1}});
}
Expr pooled_gradient(const Expr& x, const Expr& dy) {
  return apply(max_pool_gradient_op(), {x, dy}, pooled(x).node().props);
}
// Of the lengths of pooled(l.m).
Expr half(L l) {
  return pooled(l.m);
}

}  // namespace

std::vector<RewriteRow> extremum_rewrites() {
  return {
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m), 1); }, [](L l) { return argmax(l.m, 1); }},
      {"argument_of_increasing", [](L l) { return argmin(2 * sigmoid(l.m) + 3, 0); },
       [](L l) { return argmin(l.m, 0); }},
      {"pool_of_increasing", [](L l) { return pooled(tanh(l.m + l.s)); }, [](L l) { return tanh(pooled(l.m) + l.s); }},
      {"pool_of_increasing", [](L l) { return pooled(maximum(sum(l.m, 1, true) + l.m, 0.5)); },
       [](L l) { return maximum(pooled(l.m) + sum(l.m, 1, true), 0.5); }},
      {"pool_of_bounded", [](L l) { return pooled(maximum(sum(l.m, 1, true), minimum(l.m, l.s))); },
       [](L l) { return maximum(sum(l.m, 1, true), minimum(pooled(l.m), l.s)); }},
      {"pool_of_increasing", [](L l) { return pooled(l.m - l.s); }, [](L l) { return pooled(l.m) - l.s; }},
      {"pool_gradient_of_increasing", [](L l) { return pooled_gradient(sigmoid(l.m + l.s), half(l)); },
       [](L l) { return pooled_gradient(l.m, half(l)); }},
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(lt(l.s, tanh(l.m)), pooled_gradient(maximum(l.s, tanh(l.m)), half(l)), 0); },
       [](L l) { return pooled_gradient(l.m, switch_(lt(l.s, tanh(pooled(l.m))), half(l), 0)); }},
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(gt(0.5, l.m), pooled_gradient(minimum(0.5, l.m), half(l)), 0); },
       [](L l) { return pooled_gradient(l.m, switch_(lt(pooled(l.m), 0.5), half(l), 0)); }, Level::kStrict},
      {"pool_gradient_times", [](L l) { return pooled_gradient(l.m, half(l)) * (1.0 - sqr(l.m)); },
       [](L l) { return pooled_gradient(l.m, half(l) * (1.0 - sqr(pooled(l.m)))); }},
      {"sum_of_pool_gradient", [](L l) { return sum(pooled_gradient(l.m, half(l)), 1); },
       [](L l) { return sum(half(l), 1); }},
      {"sum_of_pool_gradient", [](L l) { return sum(pooled_gradient(l.m, half(l))); },
       [](L l) { return sum(half(l)); }},
      {"neg_of_extremum_of_neg", [](L l) { return -max(-l.m, 1); }, [](L l) { return min(l.m, 1); }},
  };
}

TEST(ExtremumRules, Rewrite) {
  expect_rewrites(extremum_rewrites());
}

std::vector<UnchangedRow> extremum_unchanged() {
  return {
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m, 0), 1); }},
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m)); }},
      {"argument_of_increasing", [](L l) { return argmax(l.s * l.m, 1); }},  // a factor of unknown sign
      {"argument_of_increasing", [](L l) { return argmax(-2 * l.m, 1); }},
      {"argument_of_increasing", [](L l) { return argmax(1 - l.x); }},
      {"argument_of_increasing", [](L l) { return argmax(l.x + l.s); }},  // perhaps no number
      {"argument_of_increasing", [](L l) { return argmax(l.m + l.x, 1); }},
      {"argument_of_increasing", [](L l) { return argmax(log(l.x)); }},  // not defined for all numbers
      {"argument_of_increasing", [](L l) { return argmax(exp(l.x)); }, Level::kStrict},
      {"pool_of_increasing", [](L l) { return pooled(l.s - l.m); }},                // decreasing
      {"pool_of_increasing", [](L l) { return pooled(sqr(l.m)); }},                 // neither
      {"pool_of_increasing", [](L l) { return pooled(l.m + l.m * l.x); }},          // another number for each element
      {"pool_of_increasing", [](L l) { return single(l.m + sum(l.m, 1, true)); }},  // of a row, and windows have rows
      {"pool_of_increasing",
       [](L l) {
         return join(1, {tanh(l.m), pooled(tanh(l.m))});
       }},  // is there anyway
      {"pool_of_increasing", [](L l) { return pooled(tanh(l.m)); }, Level::kStrict},
      {"pool_gradient_of_increasing",
       [](L l) { return pooled_gradient(tanh(l.m), half(l)) * tanh(l.m) + sqr(tanh(l.m)); }},
      {"pool_gradient_of_increasing", [](L l) { return pooled_gradient(sqr(l.m), half(l)); }},
      {"pool_gradient_of_increasing", [](L l) { return pooled_gradient(maximum(0, l.m), half(l)); }},  // flat below 0
      {"pool_of_bounded", [](L l) { return pooled(maximum(l.m, l.x)); }},  // another bound for each element
      {"pool_of_bounded", [](L l) { return pooled(minimum(l.m, 1)) + sum(minimum(l.m, 1)); }},
      {"pool_gradient_of_bounded",  // where both are equal, x has the derivative
       [](L l) { return switch_(lt(l.m, 0), 0, pooled_gradient(maximum(l.m, 0), half(l))); }},
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(lt(0, l.m), pooled_gradient(maximum(l.m, 0), half(l)), 0); }},
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(lt(1, l.m), pooled_gradient(maximum(0, l.m), half(l)), 0); }},  // another bound
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(gt(0, l.m), pooled_gradient(maximum(0, l.m), half(l)), 0); }},  // what was not taken
      {"pool_gradient_of_bounded",
       [](L l) { return switch_(lt(0, l.m), pooled_gradient(maximum(0, l.m), half(l)), l.m); }},
      {"pool_gradient_of_bounded",
       [](L l) {
         const Expr e = maximum(0, l.m);
         return switch_(lt(0, l.m), pooled_gradient(e, half(l)), 0) + sqr(e) + exp(e);
       }},
      {"pool_gradient_times", [](L l) { return pooled_gradient(l.m, half(l)) * l.x; }},  // not of what is pooled
      {"pool_gradient_times", [](L l) { return pooled_gradient(l.m, half(l)) * softmax(l.m); }},  // of a row
      {"sum_of_pool_gradient", [](L l) { return sum(pooled_gradient(l.m, half(l)), 0); }},  // not of whole windows
      {"neg_of_extremum_of_neg", [](L l) { return -max(-l.x) + max(-l.x); }},
  };
}

TEST(ExtremumRules, Stay) {
  expect_unchanged(extremum_unchanged());
}

// The gradient of a layer whose activations are pooled reads no activation before it is pooled.
TEST(ExtremumRules, LeaveOneLargeArrayOfAPooledLayer) {
  const Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 3, 8, 10}}, "x"),
             b = make_input({.dtype = DType::kFloat32, .dims = {3}}, "b");
  const Expr cost = sum(sqr(pool(tanh(x + reshape(b, {1, 3, 1, 1})), {.window = {2, 5}})));
  const std::vector<Expr> gradients = grad(cost, {x, b});
  const Graph graph = optimize({{x, b}, {cost, gradients[0], gradients[1]}, {}}, {});
  size_t large = 0;
  for (const Node* node : topological_order(graph.outputs))
    large += !node->is_leaf() && node->types[0].dims == x.dims();
  EXPECT_EQ(large, 1u) << "the gradient to x";
  const Bindings inputs{{x, numbers(x.type(), 1)}, {b, numbers(b.type(), 2)}};
  const std::vector<Tensor> now = evaluate(graph.outputs, inputs),
                            plain = evaluate({cost, gradients[0], gradients[1]}, inputs);
  for (size_t i = 0; i < now.size(); ++i) EXPECT_EQ(difference(now[i], plain[i], 16), std::nullopt) << i;
}

// Windows of two and of three that overlap, of all values around two bounds: equal ones and those at the bound too.
TEST(ExtremumRules, PooledBoundsKeepTheDerivativeWhereElementsAreEqual) {
  const double few[] = {-1, 0, 1, 2};
  std::vector<double> all;
  for (double a : few)
    for (double b : few)
      for (double c : few)
        for (double d : few) all.insert(all.end(), {a, b, c, d});
  const Expr x = make_input({.dtype = DType::kFloat64, .dims = {256, 4}}, "x");
  const Bindings inputs{{x, Tensor::of(all, {256, 4})}};
  for (const auto& f : std::vector<std::function<Expr(Expr)>>{
           [](Expr v) { return minimum(v, 1); }, [](Expr v) { return minimum(1, v); },
           [](Expr v) { return maximum(v, 0); }, [](Expr v) { return maximum(0, v); },
           [](Expr v) { return clip(v, 0, 1); }, [](Expr v) { return maximum(0, minimum(1, v)); },
           [](Expr v) { return minimum(maximum(v, 0), 1); }, [](Expr v) { return maximum(0, 2 + minimum(v, 0)); }})
    for (const PoolOptions& how : {PoolOptions{.window = {2}}, PoolOptions{.window = {3}, .stride = {1}}}) {
      const Expr y = pool(f(x), how);
      // The second cost has a stable form, whose derivative is taken.
      for (const Expr& cost : {sum(sqr(y + 1)), sum(log(1 + exp(y)))}) {
        const std::vector<Expr> plain =
            vector_jacobian(std::vector{cost}, std::vector{Operand(1.0).expr()}, std::vector{x});
        for (Level level : {Level::kStandard, Level::kStrict}) {
          const Graph graph = optimize({{x}, {grad(cost, x)}, {}}, {.level = level});
          EXPECT_EQ(difference(evaluate(graph.outputs, inputs)[0], evaluate(plain, inputs)[0], 16), std::nullopt)
              << expr_text(cost, 200);
        }
      }
    }
}

// The position that is found instead is one of those that the function rounds to its largest value.
TEST(ExtremumRules, TellTiesThatRoundingMade) {
  const Leaves& l = leaves();
  const Expr plain = argmax(sigmoid(l.x)), form = stable(plain).value;
  Bindings inputs{{l.x, Tensor::vector({-3.0, 40.0, 50.0, 7.0, 60.0, 0.0, 45.0})}};
  EXPECT_EQ(evaluate({plain}, inputs)[0].as_int(), 1);
  EXPECT_EQ(evaluate({form}, inputs)[0].as_int(), 4);
  EXPECT_EQ(evaluate({sigmoid(l.x)}, inputs)[0].as_double(1), evaluate({sigmoid(l.x)}, inputs)[0].as_double(4));
}

}  // namespace thtrain
