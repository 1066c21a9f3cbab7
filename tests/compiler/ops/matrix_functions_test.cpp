// Least squares, norms and functions of matrices: what defines them, derivatives, messages.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_text.h"

namespace thtrain::matrix_functions_test {
namespace {

constexpr DType kF64 = DType::kFloat64;

// Reverse mode to second order and forward mode by differences, and both modes against each other.
TEST(MatrixFunctions, DerivativesAreThoseOfDifferences) {
  using Build = std::function<Expr(const Expr& a, const Expr& b)>;
  const auto wide = [](const Expr& a) { return subtensor(a, {Slice{}, Slice{.stop = 2}}); };
  const auto tall = [](const Expr& a) { return subtensor(a, {Slice{}, Slice{}, Slice{.stop = 2}}); };
  const auto weights = [](const Expr& x) { return x * cos(x); };
  const std::vector<std::pair<const char*, Build>> all = {
      {"qr", [&](const Expr& a, const Expr&) { return weights(qr(a).q) + qr(a).r; }},
      {"qr_tall", [&](const Expr& a, const Expr&) { return weights(qr(tall(a)).q); }},
      {"qr_wide", [&](const Expr& a, const Expr&) { return qr(wide(a)).r; }},
      {"eigh", [&](const Expr& a, const Expr&) { return weights(eigh(a).vectors); }},
      {"eigvalsh", [](const Expr& a, const Expr&) { return eigvalsh(a); }},
      {"eig", [](const Expr& a, const Expr&) { return real(eig(a).vectors) + imag(eig(a).vectors) * 2.0; }},
      {"eigvals", [](const Expr& a, const Expr&) { return real(eigvals(a)); }},
      {"svd", [&](const Expr& a, const Expr&) { return weights(svd(a).u) + svd(a).vh; }},
      {"svd_tall", [&](const Expr& a, const Expr&) { return weights(svd(tall(a)).u); }},
      {"svd_wide", [&](const Expr& a, const Expr&) { return svd(wide(a)).vh; }},
      {"svdvals", [](const Expr& a, const Expr&) { return svdvals(a); }},
      {"pinv", [&](const Expr& a, const Expr&) { return pinv(tall(a)); }},
      {"lstsq", [&](const Expr& a, const Expr& b) { return lstsq(tall(a), b); }},
      {"lstsq_wide", [&](const Expr& a, const Expr& b) { return lstsq(wide(a), subtensor(b, {Slice{.stop = 2}})); }},
      {"lstsq_of_any_rank", [&](const Expr& a, const Expr& b) { return lstsq(tall(a), b, 1e-10); }},
      {"cond", [](const Expr& a, const Expr&) { return cond(a) + cond(a, 1); }},
      {"nuclear_norm",
       [](const Expr& a, const Expr&) {
         return nuclear_norm(a) + norm(a, 2, {-2, -1});
       }},
      {"cholesky_solve", [](const Expr& a, const Expr& b) { return cholesky_solve(0.3 * a + 3.0 * eye(3), b); }},
      {"expm", [](const Expr& a, const Expr&) { return expm(a); }},
      {"expm_of_large", [](const Expr& a, const Expr&) { return expm(4.0 * a) * 1e-3; }},
  };
  const Tensor matrices = Tensor::vector({2.5, 0.3, -0.4, 0.2, 3.0, 0.5, -0.6, 0.1, 1.9,  //
                                          0.1, -2.2, 0.3, 1.8, 0.4, 0.7, -0.2, 0.6, 2.9})
                              .reshape({2, 3, 3}),
               right = Tensor::vector({1.0, -2.0, 0.5, 0.3, -1.5, 0.7}).reshape({3, 2});
  const Expr a = tensor("a", {2, 3, 3}, kF64), b = tensor("b", {3, 2}, kF64);
  const std::vector<std::pair<Expr, Tensor>> values = {{a, matrices}, {b, right}};
  for (const auto& [name, build] : all) {
    SCOPED_TRACE(name);
    const Expr out = build(a, b);
    const std::string text = name;
    const std::vector<Expr> wrt =
        text.starts_with("lstsq") || text == "cholesky_solve" ? std::vector{a, b} : std::vector{a};
    const GradReport first = verify_grad({out}, wrt, values);
    EXPECT_TRUE(first.is_right) << first.text;
    std::vector<Expr> slopes, tangents;
    for (const Expr& x : wrt) {
      slopes.push_back(grad(sum(sin(out)), x));
      tangents.push_back(jvp({out}, {x}, {x * 0.5 + 1.0})[0]);
    }
    const GradReport second = verify_grad(slopes, wrt, values), forward = verify_grad(tangents, wrt, values);
    EXPECT_TRUE(second.is_right) << second.text;
    EXPECT_TRUE(forward.is_right) << forward.text;
    const Expr w = cos(out), t = a * 0.5 + 1.0;
    const Tensor one = evaluate({sum(w * jvp({out}, {a}, {t})[0])}, values)[0],
                 other = evaluate({sum(vjp({out}, {a}, {w})[0] * t)}, values)[0];
    EXPECT_NEAR(one.as_double(), other.as_double(), 1e-10 * (1 + std::abs(one.as_double())));
  }
}

// Of complex matrices the real and the imaginary part of an input are moved.
TEST(MatrixFunctions, DerivativesOfComplexMatricesAreThoseOfDifferences) {
  const Expr re = tensor("re", {3, 3}, kF64), im = tensor("im", {3, 3}, kF64), x = complex(re, im);
  const Expr definite = matmul(x, conj(matrix_transpose(x)));
  const auto parts = [](const Expr& z) { return cos(real(z)) + 2.0 * imag(z); };
  const std::vector<std::pair<const char*, std::vector<Expr>>> all = {
      {"qr", {parts(qr(x).q), parts(qr(x).r)}},
      {"eigh", {parts(eigh(definite).vectors), eigvalsh(definite)}},
      {"eig", {parts(eig(x).vectors), parts(eigvals(x))}},
      {"svd", {parts(svd(x).u), parts(svd(x).vh), svdvals(x)}},
      {"svd_wide", {parts(svd(subtensor(x, {Slice{.stop = 2}})).vh)}},
      {"pinv", {parts(pinv(subtensor(x, {Slice{}, Slice{.stop = 2}})))}},
      {"expm", {parts(expm(x))}},
  };
  const std::vector<std::pair<Expr, Tensor>> values = {
      {re, Tensor::matrix({{2.5, 0.3, -0.4}, {0.2, 3.0, 0.5}, {-0.6, 0.1, 1.9}})},
      {im, Tensor::matrix({{0.4, -0.3, 0.7}, {1.2, 0.1, 0.5}, {0.6, -0.8, 0.2}})}};
  for (const auto& [name, outputs] : all) {
    SCOPED_TRACE(name);
    const GradReport first = verify_grad(outputs, {re, im}, values);
    EXPECT_TRUE(first.is_right) << first.text;
    std::vector<Expr> slopes;
    for (const Expr& out : outputs) slopes.push_back(grad(sum(sin(out)), re) + grad(sum(sin(out)), im));
    const GradReport second = verify_grad(slopes, {re, im}, values);
    EXPECT_TRUE(second.is_right) << second.text;
  }
}

TEST(MatrixFunctions, DerivativesOfAPseudoInverseHoldForEqualSingularValues) {
  const Expr x = tensor("x", {3, 2}, kF64);
  const GradReport report = verify_grad({pinv(x)}, {x}, {{x, Tensor::matrix({{2.0, 0.0}, {0.0, 2.0}, {0.0, 0.0}})}});
  EXPECT_TRUE(report.is_right) << report.text;
}

TEST(MatrixFunctions, WhatIsNotFiniteIsALocatedError) {
  const Tensor bad = Tensor::vector({1.0, 0.0, 0.0, 1.0, 1.0, 0.0, std::nan(""), 1.0}).reshape({2, 2, 2});
  for (const Dims& dims : {Dims{2, 2, 2}, Dims{"b", "n", "n"}})
    for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
      const auto failure = [&](const std::function<Expr(const Expr&)>& build) {
        const Expr x = tensor("x", dims, kF64);
        Function f = function({x}, {build(x)}, {}, {.mode = mode});
        return text_without_node([&] { f({bad}); });
      };
      EXPECT_EQ(failure([](const Expr& x) { return eigh(x).values; }),
                "error: eigh: no eigenvalues were found\n"
                "  expected: finite elements in the lower triangle, in matrix 1 of the batch");
      EXPECT_EQ(failure([](const Expr& x) { return eigvals(x); }),
                "error: eig: no eigenvalues were found\n"
                "  expected: finite elements, in matrix 1 of the batch");
      EXPECT_EQ(failure([](const Expr& x) { return svdvals(x); }),
                "error: svd: no singular values were found\n"
                "  expected: finite elements, in matrix 1 of the batch");
      EXPECT_EQ(failure([](const Expr& x) { return lstsq(0.0 * where(isnan(x), 1.0, x), ones({2}, kF64)); }),
                "error: lstsq: the matrix is singular\n"
                "  expected: independent columns, found column 1 dependent on those before, in matrix 0 of the batch");
    }
}

TEST(MatrixFunctions, OfABatchOfNoneAreNone) {
  const Expr x = tensor("x", {"b", 3, 3}, kF64);
  EXPECT_EQ(eval(expm(x), {{x, Tensor::zeros(kF64, {0, 3, 3})}}).shape(), (Shape{0, 3, 3}));
}

TEST(MatrixFunctions, WrongOperandsAreRefused) {
  const Expr a = tensor("a", {2, 3}, kF64), t = tensor("t", {2, 3, 4}, kF64);
  EXPECT_EQ(text_without_node([&] { eigh(a); }),
            "error: eigh: rows and columns differ\n"
            "  expected: 3 == 2\n"
            "  got:      a float64[2, 3]");
  EXPECT_EQ(text_without_node([&] { svd(vector("v")); }),
            "error: svd: no matrix\n"
            "  expected: a matrix, or a batch of them, [..., m, n]\n"
            "  got:      v float64[v.0]");
  EXPECT_EQ(text_without_node([&] { lstsq(a, scalar("s")); }),
            "error: lstsq: the right-hand side is a scalar\n"
            "  expected: a vector, or a matrix of columns\n"
            "  got:      s float64[]");
  EXPECT_EQ(text_without_node([&] { cond(a, 3); }),
            "error: cond: there is no order 3\n"
            "  expected: 2, -2, 1, -1, inf or -inf\n"
            "  got:      a float64[2, 3]");
  const std::function<void()> of_squares[] = {[&] { expm(a); }, [&] { matrix_power(a, 2); }, [&] { det(a); },
                                              [&] { inverse(a); }, [&] { cond(a, 1); }};
  const char* const names[] = {"expm", "matrix_power", "det", "inverse", "cond"};
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(text_without_node(of_squares[i]),
              str("error: ", names[i], ": rows and columns differ\n  expected: 3 == 2\n  got:      a float64[2, 3]"));
  EXPECT_EQ(text_without_node([&] { outer(a, vector("v")); }),
            "error: outer: an operand is no vector\n"
            "  expected: one axis of each\n"
            "  got:      a float64[2, 3]");
  EXPECT_EQ(text_without_node([&] { tensorinv(t); }),
            "error: tensorinv: the axes are no square matrix\n"
            "  expected: 6 == 4\n"
            "  got:      t float64[2, 3, 4]");
  EXPECT_EQ(text_without_node([&] { tensorsolve(t, a); }),
            "error: tensorsolve: the axes are no square matrix\n"
            "  expected: 6 == 4\n"
            "  got:      left t float64[2, 3, 4], right a float64[2, 3]");
  EXPECT_EQ(text_without_node([&] {
              multi_dot({a, t});
            }),
            "error: multi_dot: operand 1 is no matrix\n"
            "  expected: a matrix or a vector\n"
            "  got:      t float64[2, 3, 4]");
  const Expr x = tensor("x", {"m", "n"}, kF64);
  EXPECT_EQ(text_without_node([&] {
              function({x}, {qr(x).r})({Tensor::matrix({{1.0, 2.0}})});
            }),
            "error: qr: more columns than rows, of lengths that were not known\n"
            "  expected: n <= m\n"
            "  got:      2 and 1");
}

}  // namespace
}  // namespace thtrain::matrix_functions_test
