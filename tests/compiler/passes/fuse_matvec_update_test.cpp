// Products with a vector and an update of their matrix: what becomes one loop, what stays, values.
#include "compiler/passes/fuse_matvec_update.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_matvec_update_test {
namespace {

Expr floats(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat32, .dims = std::move(dims)}, name);
}

// What kernels and calls are made of, in alphabetical order.
Steps steps(const std::vector<Expr>& outputs, Level level = Level::kStandard) {
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {.level = level});
  verify(after, "fuse_elementwise");
  Steps out = steps_of(after);
  std::sort(out.begin(), out.end());
  return out;
}

// 240,000 bytes.
const Expr w = floats({200, 300}, "w"), h = floats({200, 1}, "h"), d = floats({1, 300}, "d"), x = floats({200}, "x"),
           y = floats({300}, "y");

TEST(FuseMatvecUpdate, OfProductAndUpdate) {
  EXPECT_EQ(steps({dot(d, transpose(w)), w - 0.1 * (h * d)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({dot(d, transpose(w)), w - 0.1 * dot(h, d)}), Steps{"fused_reduction"}) << "inner length 1";
  EXPECT_EQ(steps({dot(w, y), w - 0.1 * outer(x, y)}), Steps{"fused_reduction"}) << "vectors";
  EXPECT_EQ(steps({dot(y, transpose(w)), w + outer(x, y)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({dot(w, transpose(d)), sqr(w)}), Steps{"fused_reduction"}) << "a column; any loop over the matrix";
  EXPECT_EQ(steps({1.0 - sqr(dot(w, y)), w + outer(x, y)}), Steps{"fused_reduction"}) << "what follows, too";
}

TEST(FuseMatvecUpdate, Stay) {
  EXPECT_EQ(steps({dot(d, transpose(w))}), Steps{"dot"}) << "nobody walks over it";
  EXPECT_EQ(steps({dot(x, w), w + outer(x, y)}), (Steps{"dot", "ger"})) << "sums along columns";
  Expr small = floats({20, 300}, "small"), b = floats({20}, "b");
  EXPECT_EQ(steps({dot(small, y), small + outer(b, y)}), (Steps{"dot", "ger"})) << "24,000 bytes";
  EXPECT_EQ(steps({w + outer(dot(w, y), y)}), (Steps{"dot", "ger"})) << "the update needs the product";
  EXPECT_EQ(steps({dot(w, sum(sqr(w), 0))}), (Steps{"dot", "fused_reduction"})) << "the product needs the walk";
  EXPECT_EQ(steps({dot(w, y), w + h * d}, Level::kStrict), (Steps{"dot", "fused"})) << "another order of adding";
  Expr two = floats({7, 300}, "two");
  EXPECT_EQ(steps({dot(two, transpose(w)), w - 0.1 * (h * d)}), (Steps{"dot", "fused"})) << "more than one row";
}

TEST(FuseMatvecUpdate, OfLoopsOverOneLargeArray) {
  EXPECT_EQ(steps({sum(sqr(w)), sum(abs(w) + 1.0)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({sum(sqr(w), 1), tanh(w)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({tanh(w), sqr(w)}), Steps{"fused"});
  EXPECT_EQ(steps({sum(sqr(w)), tanh(w)}), (Steps{"fused", "fused_reduction"})) << "a single sum is one thread's";
  EXPECT_EQ(steps({sum(sqr(w), 1), sum(abs(w) + 1.0, 0)}), (Steps{"fused_reduction", "fused_reduction"}))
      << "other slices";
  Expr small = floats({20, 300}, "small");
  EXPECT_EQ(steps({tanh(small), sqr(small)}), (Steps{"fused", "fused"}));
  EXPECT_EQ(steps({tanh(w) * dot(sum(sqr(w), 0), y)}), (Steps{"dot", "fused", "fused_reduction"}))
      << "one needs the other";
}

// A layer's backward step at batch 1, the weights updated in place.
void expect_step(DType dtype, int64_t rows, int64_t columns) {
  struct Step {
    Function run;
    Shared weights;
  };
  auto make = [&](Mode mode) {
    Shared weights(numbers({.dtype = dtype, .dims = {rows, columns}}, 3), "W");
    Expr x = make_input({.dtype = dtype, .dims = {1, rows}}, "x"),
         t = make_input({.dtype = dtype, .dims = {1, columns}}, "t");
    Expr hidden = tanh(x), cost = sum(sqr(tanh(dot(hidden, weights)) - t));
    std::vector<Expr> gradients = grad(cost, {weights, x});
    return Step{function({x, t}, {cost, gradients[1]}, {{weights, weights - 0.01 * gradients[0]}},
                         {.mode = mode, .threads = 2}),
                weights};
  };
  Step native = make(Mode::kNative), reference = make(Mode::kReference), checked = make(Mode::kDebug);
  const std::string fused = native.run.explain().fused;
  EXPECT_EQ(fused.find(" = dot("), fused.rfind(" = dot(")) << "the product of the way forth alone";
  EXPECT_LT(native.run.info().arena_bytes, rows * columns) << "no copy of the weights";
  const Tensor x = numbers({.dtype = dtype, .dims = {1, rows}}, 4),
               t = numbers({.dtype = dtype, .dims = {1, columns}}, 5);
  checked.run({x, t});
  for (int step = 0; step < 3; ++step) {
    const std::vector<Tensor> got = native.run({x, t}), expected = reference.run({x, t});
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(difference(got[i], expected[i], 1024), std::nullopt) << i;
  }
  EXPECT_EQ(difference(native.weights.get_value(), reference.weights.get_value(), 1024), std::nullopt);
}

TEST(FuseMatvecUpdate, StepsOfTraining) {
  expect_step(DType::kFloat32, 203, 301);
  expect_step(DType::kFloat64, 1000, 130);
}

}  // namespace
}  // namespace thtrain::fuse_matvec_update_test
