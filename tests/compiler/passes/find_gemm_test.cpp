#include "compiler/passes/find_gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/passes.h"
#include "tests/support/steps.h"

namespace thtrain {
namespace {

class FindGemm : public testing::Test {
 protected:
  Expr w = matrix("w", {3, 4}), x = matrix("x", {5, 3}), d = matrix("d", {5, 4}), v = vector("v", {4}),
       u = vector("u", {3});
  Expr lr = scalar("lr"), c = scalar("c");

  // The graph after the pass: the same value, with that many calls of `name` and no dot left (unless told).
  void expect_calls(size_t calls, const std::string& name, const Expr& before, size_t dots = 0) {
    Graph graph{{w, x, d, v, u, lr, c}, {before}, {}};
    Graph after = run_pass("find_gemm", graph, {});
    EXPECT_EQ(count_of(after, name), calls);
    EXPECT_EQ(count_of(after, "dot"), dots);
    std::vector<std::pair<Expr, Tensor>> values;
    double next = 0.1;
    for (const Expr& input : graph.inputs) {
      Tensor value = Tensor::zeros(DType::kFloat64, input.type().known_shape());
      for (int64_t i = 0; i < value.size(); ++i)
        value.data<double>()[i] = (next = next * 1.7 - static_cast<int>(next * 1.7) + 0.1);
      values.emplace_back(input, value);
    }
    EXPECT_FALSE(difference(evaluate(after.outputs, values)[0], evaluate(graph.outputs, values)[0], 64));
    // Factors of 0 and hard elements: what is NaN stays NaN. (A quotient by 0 may become it, on the way.)
    for (auto& [input, value] : values)
      if (input.rank() > 0) value.data<double>()[value.size() / 2] = input.same(d) ? INFINITY : NAN;
    for (double first : {0.0, 0.5})
      for (double second : {0.0, -0.0, 2.0}) {
        for (auto& [input, value] : values)
          if (input.same(lr) || input.same(c)) value = Tensor(input.same(lr) ? first : second);
        const Tensor got = evaluate(after.outputs, values)[0], want = evaluate(graph.outputs, values)[0];
        for (int64_t i = 0; i < want.size(); ++i)
          EXPECT_TRUE(std::isnan(got.as_double(i)) || !std::isnan(want.as_double(i)))
              << "element " << i << " with " << first << " and " << second;
      }
  }
  void expect_one(const std::string& name, const Expr& before) { expect_calls(1, name, before); }
};

TEST_F(FindGemm, SpellingsOfAMatrixUpdate) {
  Expr g = dot(transpose(x), d);
  expect_one("gemm", w - lr * g);
  expect_one("gemm", w - g * lr);
  expect_one("gemm", w + (-(lr * g)));
  expect_one("gemm", -(lr * g) + w);
  expect_one("gemm", w - lr * (c * g));
  expect_one("gemm", c * w + lr * g);
  expect_one("gemm", w - lr * (g + c * w));
  expect_one("gemm", g + w);
  expect_one("gemm", 0.5 * w - (0.25 * g - w));
}

TEST_F(FindGemm, FactorsOfEveryKind) {
  Expr g = dot(transpose(x), d);
  expect_one("gemm", w - g / lr);
  expect_one("gemm", (w - lr * g) / c);
  expect_one("gemm", w + 2 * w - g / 4);
  expect_one("gemm", c * (lr * w - g));
}

// Each product accumulates into the sum before it; without any other summand the first one is that sum.
TEST_F(FindGemm, SumsOfSeveralProducts) {
  Expr g = dot(transpose(x), d), h = dot(w, dot(transpose(d), d));
  expect_calls(2, "gemm", w - lr * g + h, 1);
  expect_calls(2, "gemm", w - lr * (g + c * h), 1);
  expect_calls(1, "gemm", lr * g + c * h, 2);
  expect_calls(2, "gemm", g - w * c + h - w, 1);
}

TEST_F(FindGemm, IsLinearInLongSums) {
  Expr sum = w;
  std::vector<Expr> terms;
  for (int i = 0; i < 20000; ++i) {
    terms.push_back(matrix("t", {3, 4}));
    sum = i % 2 ? sum - lr * terms.back() : sum + terms.back();
  }
  Graph graph{terms, {sum + dot(transpose(x), d)}, {}};
  EXPECT_EQ(count_of(run_pass("find_gemm", graph, {}), "gemm"), 1u);
}

TEST_F(FindGemm, VectorsAndOuterProducts) {
  expect_one("gemv", u - lr * dot(w, v));
  expect_one("gemv", v + dot(u, w));
  expect_one("ger", w - lr * outer(u, v));
}

// As second derivatives of products make them: the column has two axes before it is shown as one.
TEST_F(FindGemm, OuterProductsOfAColumnOrARow) {
  const Expr column = dimshuffle(dot(w, expand_dims(v, {1})), {0, -1}), row = expand_dims(v, {0});
  ASSERT_EQ(column.node().inputs[0].rank(), 2u);
  expect_calls(1, "ger", w - lr * (column * row), 1);
  expect_calls(1, "ger", w + column * row, 1);
}

TEST_F(FindGemm, LeavesAProductThatOthersRead) {
  Expr g = dot(transpose(x), d);
  Graph graph{{w, x, d, lr}, {w - lr * g, g}, {}};
  EXPECT_EQ(count_of(run_pass("find_gemm", graph, {}), "gemm"), 0u);
}

TEST_F(FindGemm, LeavesABroadcastSum) {
  Expr row = matrix("row", {1, 4});
  Graph graph{{row, x, d}, {row + dot(transpose(x), d)}, {}};
  EXPECT_EQ(count_of(run_pass("find_gemm", graph, {}), "gemm"), 0u);
}

TEST_F(FindGemm, IsNotExact) {
  Graph graph{{w, x, d, lr}, {w - lr * dot(transpose(x), d)}, {}};
  EXPECT_EQ(count_of(run_pass("find_gemm", graph, {.level = Level::kStrict}), "gemm"), 0u);
}

}  // namespace
}  // namespace thtrain
