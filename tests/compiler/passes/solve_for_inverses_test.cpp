// Products with inverses that become solutions.
#include "compiler/passes/solve_for_inverses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/merge.h"

namespace thtrain::solve_for_inverses_test {
namespace {

constexpr DType kF64 = DType::kFloat64;

struct Values {
  Expr a = tensor("a", {3, 3}, kF64), b = tensor("b", {3, 2}, kF64), v = tensor("v", {3}, kF64),
       many = tensor("many", {2, 3, 3}, kF64), right = tensor("right", {2, 3, 4}, kF64);
  std::vector<std::pair<Expr, Tensor>> bound() const {
    RandomState random(4);
    std::vector<std::pair<Expr, Tensor>> out;
    for (const Expr& x : {a, b, v, many, right}) {
      Shape shape;
      for (const Dim& n : x.dims()) shape.push_back(n.value());
      int64_t count = 1;
      for (int64_t n : shape) count *= n;
      out.emplace_back(x, Tensor::of(random.normal(0, 1, count), shape));
    }
    return out;
  }
};

std::string text_of(const Values& x, const Expr& out, bool rewritten) {
  const Graph graph{{x.a, x.b, x.v, x.many, x.right}, {out}, {}};
  return graph_text(merge(rewritten ? solve_for_inverses(graph, {}) : graph, {}));
}

TEST(SolveForInverses, AProductBecomesASolution) {
  const Values x;
  const Expr definite = matmul(x.a, transpose(x.a)) + eye(3), of_many = matrix_transpose(x.many);
  const MatrixKind kind = MatrixKind::kPositiveDefinite;
  const std::vector<std::pair<Expr, Expr>> rows = {
      {dot(inverse(x.a), x.b), solve(x.a, x.b)},
      {dot(inverse(x.a), x.v), solve(x.a, x.v)},
      {dot(x.v, inverse(x.a)), solve(transpose(x.a), x.v)},
      {dot(transpose(x.b), inverse(x.a)), transpose(solve(transpose(x.a), x.b))},
      {dot(transpose(inverse(x.a)), x.b), solve(transpose(x.a), x.b)},
      {dot(inverse(definite, kind), x.b), solve(definite, x.b, kind)},
      {matmul(inverse(x.many), x.right), solve(x.many, x.right)},
      {matmul(inverse(of_many), x.right), solve(of_many, x.right)},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NE(text_of(x, rows[i].first, true), text_of(x, rows[i].first, false));
    const Graph after = solve_for_inverses({{x.a, x.b, x.v, x.many, x.right}, {rows[i].first}, {}}, {});
    EXPECT_EQ(graph_text(merge(after, {})).find("eye(dims"), std::string::npos) << graph_text(after);
    const Tensor got = evaluate(after.outputs, x.bound())[0], want = evaluate({rows[i].second}, x.bound())[0],
                 plain = evaluate({rows[i].first}, x.bound())[0];
    ASSERT_EQ(got.type_text(), plain.type_text());
    for (int64_t k = 0; k < got.size(); ++k) {
      EXPECT_NEAR(got.as_double(k), want.as_double(k), 1e-12 * (1 + std::abs(want.as_double(k))));
      EXPECT_NEAR(got.as_double(k), plain.as_double(k), 1e-10 * (1 + std::abs(plain.as_double(k))));
    }
  }
}

size_t factorizations(const Graph& graph) {
  const std::string text = graph_text(merge(graph, {}));
  size_t out = 0;
  for (size_t at = text.find(" = lu("); at != std::string::npos; at = text.find(" = lu(", at + 1)) ++out;
  return out;
}

TEST(SolveForInverses, TransposesShareFactors) {
  const Values x;
  const Expr of_transpose = solve(transpose(x.a), x.b), of_many = inverse(matrix_transpose(x.many));
  const std::vector<std::pair<std::vector<Expr>, size_t>> rows = {
      {{solve(x.a, x.v), of_transpose}, 1}, {{of_transpose, det(x.a)}, 1},
      {{inverse(x.many), of_many}, 1},      {{of_transpose, solve(transpose(x.a), x.v)}, 1},  // as it is
      {{of_transpose, of_many}, 2},         {{of_transpose, det(x.a + 1.0)}, 2},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const Graph before{{x.a, x.b, x.v, x.many, x.right}, rows[i].first, {}}, after = solve_for_inverses(before, {});
    EXPECT_EQ(factorizations(after), rows[i].second) << graph_text(after);
    for (size_t k = 0; k < before.outputs.size(); ++k) {
      const Tensor got = evaluate({after.outputs[k]}, x.bound())[0], want = evaluate({before.outputs[k]}, x.bound())[0];
      ASSERT_EQ(got.type_text(), want.type_text());
      for (int64_t j = 0; j < got.size(); ++j)
        EXPECT_NEAR(got.as_double(j), want.as_double(j), 1e-12 * (1 + std::abs(want.as_double(j))));
    }
  }
}

TEST(SolveForInverses, WhatIsReadElsewhereStays) {
  const Values x;
  const Expr y = inverse(x.a);
  for (const Expr& out : {dot(y, x.b) + sum(y), dot(solve(x.a, x.b), x.b[0]), dot(x.a, x.b), y}) {
    EXPECT_EQ(text_of(x, out, true), text_of(x, out, false));
  }
}

TEST(SolveForInverses, RunsInAProgram) {
  const Expr a = tensor("a", {20, 20}, kF64), b = tensor("b", {20}, kF64);
  const std::string program = function({a, b}, {dot(inverse(a), b)}).explain().program;
  EXPECT_EQ(program.find("gemv"), std::string::npos) << program;
}

}  // namespace
}  // namespace thtrain::solve_for_inverses_test
