// What is known of matrices chooses how equations are solved.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/factor/factor.h"
#include "tests/support/error_text.h"

namespace thtrain::matrix_hint_test {
namespace {

constexpr DType kF64 = DType::kFloat64;

const Expr& a() {
  static const Expr out = tensor("a", {2, 3, 3}, kF64);
  return out;
}
const Expr& b() {
  static const Expr out = tensor("b", {3, 2}, kF64);
  return out;
}
Expr definite() {
  return matmul(a(), matrix_transpose(a())) + eye(3);
}

std::vector<Tensor> values_of(const std::vector<Expr>& all) {
  RandomState random(7);
  return evaluate(
      all, {{a(), Tensor::of(random.normal(0, 1, 18), {2, 3, 3})}, {b(), Tensor::of(random.normal(0, 1, 6), {3, 2})}});
}

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  const Tensor x = got.cast(DType::kComplex128), y = want.cast(DType::kComplex128);
  const auto *left = static_cast<const double*>(x.raw()), *right = static_cast<const double*>(y.raw());
  for (int64_t i = 0; i < 2 * x.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-10 * (1 + std::abs(right[i])));
}

TEST(MatrixHint, KindsAreKnown) {
  const Expr z = tensor("z", {3, 3}, DType::kComplex64);
  const std::vector<std::pair<Expr, MatrixKind>> rows = {
      {a(), MatrixKind::kGeneral},
      {matrix_hint(a(), MatrixKind::kSymmetric), MatrixKind::kSymmetric},
      {matrix_transpose(matrix_hint(a(), MatrixKind::kLower)), MatrixKind::kUpper},
      {matrix_transpose(matrix_hint(a(), MatrixKind::kPositiveDefinite)), MatrixKind::kPositiveDefinite},
      {transpose(matrix_hint(a(), MatrixKind::kLower)), MatrixKind::kGeneral},
      {cholesky(a()), MatrixKind::kLower},
      {cholesky(a(), true), MatrixKind::kUpper},
      {cholesky(z, true), MatrixKind::kUpper},
      {tril(a()), MatrixKind::kLower},
      {tril(a(), -1), MatrixKind::kLower},
      {tril(a(), 1), MatrixKind::kGeneral},
      {triu(a()), MatrixKind::kUpper},
      {triu(a(), -1), MatrixKind::kGeneral},
      {where(gt(a(), 0), a(), 0.0), MatrixKind::kGeneral},
      {inverse(tril(a())), MatrixKind::kLower},
      {matrix_transpose(inverse(triu(a()))), MatrixKind::kLower},
      {inverse(a(), MatrixKind::kPositiveDefinite), MatrixKind::kPositiveDefinite},
      {inverse(a()), MatrixKind::kGeneral},
      {b()[0], MatrixKind::kGeneral},
  };
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(known_kind(rows[i].first), rows[i].second) << "row " << i;
}

// With the hint as with the kind given to the builder: the same graph but for the hint, equal values and derivatives.
TEST(MatrixHint, BuildersTakeTheKind) {
  using Build = std::function<Expr(const Expr&, MatrixKind)>;
  const std::vector<Build> builds = {
      [](const Expr& x, MatrixKind kind) { return solve(x, b(), kind); },
      [](const Expr& x, MatrixKind kind) { return inverse(x, kind); },
      [](const Expr& x, MatrixKind kind) { return det(x, kind); },
      [](const Expr& x, MatrixKind kind) { return slogdet(x, kind).log; },
      [](const Expr& x, MatrixKind kind) { return slogdet(x, kind).sign; },
  };
  for (const auto& [kind, x] :
       {std::pair(MatrixKind::kPositiveDefinite, definite()), std::pair(MatrixKind::kLower, definite()),
        std::pair(MatrixKind::kUpper, definite()), std::pair(MatrixKind::kSymmetric, definite())})
    for (size_t i = 0; i < builds.size(); ++i) {
      SCOPED_TRACE(str("kind ", static_cast<int>(kind), ", build ", i));
      const Expr hinted = builds[i](matrix_hint(x, kind), MatrixKind::kGeneral), given = builds[i](x, kind);
      const std::string text = graph_text({{a(), b()}, {hinted}, {}});
      EXPECT_EQ(text.find(" = lu(") == std::string::npos, kind != MatrixKind::kSymmetric) << text;
      std::vector<Expr> all = {hinted, given};
      if (is_float(hinted.dtype()) && i < 4)
        for (const Expr& y : {hinted, given}) all.push_back(grad(sum(sin(y)), a()));
      const std::vector<Tensor> got = values_of(all);
      for (size_t k = 0; k + 1 < got.size(); k += 2) expect_near(got[k], got[k + 1]);
    }
}

// Of a matrix that is what the hint says, results and derivatives are those without it.
TEST(MatrixHint, ChangesNoResults) {
  const auto both = [](const Expr& hinted, const Expr& plain) {
    const std::vector<Tensor> got =
        values_of({hinted, plain, grad(sum(abs(sin(hinted))), a()), grad(sum(abs(sin(plain))), a())});
    expect_near(got[0], got[1]);
    expect_near(got[2], got[3]);
  };
  const Expr x = definite(), hinted = matrix_hint(x, MatrixKind::kPositiveDefinite),
             symmetric = matrix_hint(x, MatrixKind::kSymmetric), l = tril(a()) + 0.0;
  both(solve(hinted, b()), solve(x, b()));
  both(inverse(hinted), inverse(x));
  both(log(det(hinted)), log(det(x)));
  both(eig(symmetric).values, eig(x).values);
  both(eig(symmetric).vectors, eig(x).vectors);
  both(eigvals(symmetric), eigvals(x));
  both(det(tril(a())), det(l));
  both(solve(tril(a()), b()), solve(l, b()));
  both(inverse(matrix_transpose(tril(a()))), inverse(matrix_transpose(l)));
}

TEST(MatrixHint, MistakesAreNamed) {
  EXPECT_EQ(text_without_node([] { matrix_hint(b(), MatrixKind::kLower); }),
            "error: matrix_hint: rows and columns differ\n"
            "  expected: 2 == 3\n"
            "  got:      b float64[3, 2]");
}

}  // namespace
}  // namespace thtrain::matrix_hint_test
