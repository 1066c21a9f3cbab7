#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

Expr matrices() {
  static const Expr out = make_input({.dtype = DType::kFloat64, .dims = {2, 4, 4}}, "matrices");
  return out;
}
Expr definite(const Expr& x) {
  return matmul(x, matrix_transpose(x)) + eye(x.dims().back());
}

// [n, ...]: as they are read.
Expr diagonals(const Expr& x) {
  return moveaxis(diagonal(x, 0, -2, -1), -1, 0);
}

}  // namespace

std::vector<RewriteRow> diagonal_rewrites() {
  return {
      {"trace_of_dot", [](L l) { return trace(dot(l.m, transpose(l.m))); }, [](L l) { return sum(l.m * l.m); }},
      {"trace_of_dot", [](L) { return trace(matmul(matrices(), exp(matrices())), 0, -2, -1); },
       [](L) {
         return sum(matrices() * matrix_transpose(exp(matrices())), {1, 2});
       }},
      {"log_of_prod", [](L l) { return log(abs(prod(l.m, 1))); }, [](L l) { return sum(log(abs(l.m)), 1); }},
      {"log_of_prod", [](L l) { return log(prod(sqr(l.x))); }, [](L l) { return 2.0 * sum(log(abs(l.x))); }},
      {"log_of_prod", [](L l) { return log(sqr(prod(l.x))); }, [](L l) { return 2.0 * sum(log(abs(l.x))); }},
      {"log_of_prod", [](L) { return log(abs(det(matrices()))); },
       [](L) { return sum(log(abs(diagonals(lu(matrices()).packed))), 0); }},
      {"log_of_prod", [](L) { return log(det(definite(matrices()), MatrixKind::kPositiveDefinite)); },
       [](L) { return 2.0 * sum(log(diagonal(cholesky(definite(matrices())), 0, -2, -1)), -1); }},
      {"log_of_prod", [](L) { return log(det(cholesky(definite(matrices())))); },
       [](L) { return sum(log(diagonals(cholesky(definite(matrices())))), 0); }},
  };
}

TEST(DiagonalRules, Rewrite) {
  expect_rewrites(diagonal_rewrites());
}

std::vector<UnchangedRow> diagonal_unchanged() {
  return {
      // The product is read elsewhere, or of other elements than the diagonal.
      {"trace_of_dot", [](L l) { return trace(dot(l.m, transpose(l.m))) + sum(dot(l.m, transpose(l.m))); }},
      {"trace_of_dot", [](L l) { return trace(dot(l.m, transpose(l.m)), 1); }},
      {"trace_of_dot", [](L) { return sum(diagonal(matmul(matrices(), matrices()), 0, -2, -1), 0); }},
      {"trace_of_dot", [](L l) { return trace(dot(l.m, transpose(l.m))); }, Level::kStrict},
      // A factor may be negative.
      {"log_of_prod", [](L l) { return log(prod(l.x)); }},
      {"log_of_prod", [](L) { return log(det(matrices())); }},
      {"log_of_prod", [](L l) { return log(prod(l.x) * prod(sqr(l.y))); }},
      {"log_of_prod", [](L l) { return log(abs(prod(l.m, 1) + 1.0)); }},
  };
}

TEST(DiagonalRules, Stay) {
  expect_unchanged(diagonal_unchanged());
}

}  // namespace thtrain
