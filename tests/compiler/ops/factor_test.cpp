// Factorizations and what they solve: messages, derivatives, what a program calls.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_text.h"

namespace thtrain::factor_test {
namespace {

constexpr DType kF64 = DType::kFloat64;
const Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug};

// The message of a call of f(x), without the node.
std::string failure_of(const std::function<Expr(const Expr&)>& f, const Dims& dims, const Tensor& value, Mode mode) {
  const Expr x = tensor("x", dims, value.dtype());
  Function of_x = function({x}, {f(x)}, {}, {.mode = mode});
  return text_without_node([&] { of_x({value}); });
}

TEST(Factor, ASingularMatrixIsALocatedError) {
  const Tensor singular = Tensor::matrix({{1, 2, 3}, {2, 4, 6}, {1, 0, 1}});
  for (const Dims& dims : {Dims{3, 3}, Dims{"n", "n"}})
    for (Mode mode : kModes) {
      const Expr x = tensor("x", dims, kF64);
      Function f = function({x}, {inverse(x)}, {}, {.mode = mode});
      EXPECT_EQ(text_without_node([&] { f({singular}); }),
                "error: inverse: the matrix is singular\n"
                "  expected: pivots other than 0, found 0 as pivot 3 of the LU factorization");
      try {
        f({singular});
      } catch (const UserError& error) {
        EXPECT_NE(error.messages()[0].node.find("factor_test.cpp"), std::string::npos) << error.what();
      }
      EXPECT_EQ(f({Tensor::matrix({{2, 0, 0}, {0, 4, 0}, {0, 0, 1}})})[0].as_double(0), 0.5) << "the next call is new";
    }
}

TEST(Factor, AMatrixOfABatchIsNamed) {
  const auto batch_of = [](double a, double b, double c, double d) {
    return Tensor::vector({4.0, 0.0, 0.0, 1.0, a, b, c, d, 1.0, 0.0, 0.0, 1.0}).reshape({3, 2, 2});
  };
  const Tensor singular = batch_of(4, 8, 2, 4), indefinite = batch_of(4, 6, 6, 9);
  for (const Dims& dims : {Dims{3, 2, 2}, Dims{"b", "n", "n"}})
    for (Mode mode : kModes) {
      EXPECT_EQ(
          failure_of(
              [](const Expr& x) {
                return solve(x, ones({2, 1}, kF64));
              },
              dims, singular, mode),
          "error: solve: the matrix is singular\n"
          "  expected: pivots other than 0, found 0 as pivot 2 of the LU factorization, in matrix 1 of the batch");
      EXPECT_EQ(failure_of([](const Expr& x) { return cholesky(x); }, dims, indefinite, mode),
                "error: cholesky: the matrix is not positive definite\n"
                "  expected: positive pivots, pivot 2 is not, in matrix 1 of the batch");
      EXPECT_EQ(failure_of(
                    [](const Expr& x) {
                      return triangular_solve(x * (x > 4.0), ones({2, 1}, kF64));
                    },
                    dims, singular, mode),
                "error: triangular_solve: the matrix is singular\n"
                "  expected: no 0 on the diagonal of the triangle, found one in row 1, in matrix 0 of the batch");
    }
}

TEST(Factor, WrongOperandsAreRefused) {
  const Expr a = tensor("a", {2, 3}, kF64), square = tensor("x", {3, 3}, kF64), batch = tensor("b", {4, 3, 3}, kF64);
  EXPECT_EQ(text_without_node([&] { cholesky(a); }),
            "error: cholesky: rows and columns differ\n"
            "  expected: 3 == 2\n"
            "  got:      a float64[2, 3]");
  EXPECT_EQ(text_without_node([&] { lu(vector("v")); }),
            "error: lu: no matrix\n"
            "  expected: a matrix, or a batch of them, [..., n, n]\n"
            "  got:      v float64[v.0]");
  EXPECT_EQ(text_without_node([&] { solve(square, scalar("s")); }),
            "error: solve: the right-hand side is a scalar\n"
            "  expected: a vector, or a matrix of columns\n"
            "  got:      s float64[]");
  EXPECT_EQ(text_without_node([&] {
              solve(batch, tensor("c", {5, 3, 2}, kF64));
            }),
            "error: solve: the lengths of axis 0 of the batch differ\n"
            "  expected: equal lengths, or 1\n"
            "  got:      left b float64[4, 3, 3], right c float64[5, 3, 2]");
  EXPECT_EQ(text_without_node([&] {
              solve(square, tensor("c", {2, 2}, kF64));
            }),
            "error: solve: the right-hand side has another number of rows than the matrix\n"
            "  expected: 3 rows\n"
            "  got:      left x float64[3, 3], right c float64[2, 2]");
}

TEST(Factor, IntegersBecomeFloats) {
  const Expr x = tensor("x", {2, 2}, DType::kInt32);
  EXPECT_EQ(det(x).dtype(), floatX());
  EXPECT_EQ(solve(x, tensor("b", {2}, DType::kInt64)).dtype(), floatX());
}

TEST(Factor, LargeMatricesAreLapacks) {
  const Expr x = tensor("x", {64, 64}, DType::kFloat32), b = tensor("b", {64}, DType::kFloat32);
  Function f = function({x, b}, {solve(x, b), solve(x, b, MatrixKind::kPositiveDefinite)});
  EXPECT_TRUE(f.info().reference_steps.empty());
  const std::string program = f.explain().program;
  for (const char* called : {"-- lu_f32", "-- cholesky_f32", "-- triangular_solve_f32"})
    EXPECT_NE(program.find(called), std::string::npos) << program;
}

// How many steps of a program are this.
size_t steps_of(const Function& f, const std::string& what) {
  const std::string program = f.explain().program;
  size_t count = 0;
  for (size_t at = program.find(what); at != std::string::npos; at = program.find(what, at + 1)) ++count;
  return count;
}

TEST(Factor, AMatrixIsFactoredOnce) {
  const Expr x = tensor("x", {20, 20}, kF64), b = tensor("b", {20}, kF64), y = solve(x, b);
  EXPECT_EQ(
      steps_of(function({x, b}, {y, grad(sum(y * y), x), grad(sum(y * y), b), det(x), slogdet(x).log, inverse(x)}),
               "-- lu_f64"),
      1u);
  // The likelihood of a Gaussian process, and its derivative.
  const Expr z = solve(x, b, MatrixKind::kPositiveDefinite),
             likelihood = dot(b, z) + slogdet(x, MatrixKind::kPositiveDefinite).log;
  EXPECT_EQ(steps_of(function({x, b}, {likelihood, grad(likelihood, x)}), "-- cholesky_f64"), 1u);
}

TEST(Factor, AKnownKindGivesTheSameNumbers) {
  const Tensor lower = Tensor::matrix({{2.0, 0.0, 0.0}, {-1.0, 3.0, 0.0}, {0.5, 1.0, -4.0}});
  const Expr x = tensor("x", {3, 3}, kF64), transposed = transpose(x), definite = dot(x, transposed);
  const auto value = [&](const Expr& out) { return evaluate({out}, {{x, lower}})[0]; };
  const auto expect_same = [&](const Expr& known, const Expr& general) {
    const Tensor a = value(known), b = value(general);
    for (int64_t i = 0; i < b.size(); ++i)
      EXPECT_NEAR(a.as_double(i), b.as_double(i), 1e-12 * (1 + std::abs(b.as_double(i))));
  };
  const std::vector<std::pair<Expr, MatrixKind>> kinds = {
      {x, MatrixKind::kLower}, {transposed, MatrixKind::kUpper}, {definite, MatrixKind::kPositiveDefinite}};
  for (const auto& [a, kind] : kinds) {
    expect_same(inverse(a, kind), inverse(a));
    expect_same(det(a, kind), det(a));
    expect_same(slogdet(a, kind).sign, slogdet(a).sign);
    expect_same(slogdet(a, kind).log, slogdet(a).log);
  }
  expect_same(grad(slogdet(definite, MatrixKind::kPositiveDefinite).log, x), grad(slogdet(definite).log, x));
}

// Reverse mode to second order and forward mode, of well-conditioned matrices, by differences.
TEST(Factor, DerivativesAreThoseOfDifferences) {
  using Build = std::function<Expr(const Expr& a, const Expr& b)>;
  const auto definite = [](const Expr& a) { return matmul(a, matrix_transpose(a)) + 2.0 * eye(a.dims().back()); };
  const std::vector<std::pair<const char*, Build>> all = {
      {"inverse", [](const Expr& a, const Expr&) { return inverse(a); }},
      {"det", [](const Expr& a, const Expr&) { return det(a); }},
      {"slogdet", [](const Expr& a, const Expr&) { return slogdet(a).log; }},
      {"solve", [](const Expr& a, const Expr& b) { return solve(a, b); }},
      {"solve_definite",
       [&](const Expr& a, const Expr& b) { return solve(definite(a), b, MatrixKind::kPositiveDefinite); }},
      {"solve_lower", [](const Expr& a, const Expr& b) { return solve(a, b, MatrixKind::kLower); }},
      {"solve_upper", [](const Expr& a, const Expr& b) { return solve(a, b, MatrixKind::kUpper); }},
      {"triangular_unit", [](const Expr& a, const Expr& b) { return triangular_solve(a, b, {.unit = true}); }},
      {"cholesky", [&](const Expr& a, const Expr&) { return cholesky(definite(a)); }},
      {"lu", [](const Expr& a, const Expr&) { return lu(a).packed; }},
      {"power", [](const Expr& a, const Expr&) { return matrix_power(a, -3); }},
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
    const bool has_right =
        std::string(name).find("solve") != std::string::npos || name == std::string("triangular_unit");
    const std::vector<Expr> wrt = has_right ? std::vector{a, b} : std::vector{a};
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
    // <w, J t> by forward mode and <J^T w, t> by reverse mode.
    const Expr w = cos(out), t = a * 0.5 + 1.0;
    const Tensor one = evaluate({sum(w * jvp({out}, {a}, {t})[0])}, values)[0],
                 other = evaluate({sum(vjp({out}, {a}, {w})[0] * t)}, values)[0];
    EXPECT_NEAR(one.as_double(), other.as_double(), 1e-11 * (1 + std::abs(one.as_double())));
  }
}

// A batch of each is a loop over its matrices.
TEST(Factor, VmapIsABatch) {
  const Expr a = tensor("a", {5, 3, 3}, kF64), b = tensor("b", {3}, kF64);
  const Expr mapped = vmap([&](const Expr& x) { return triangular_solve(x, b); }, {a});
  const std::string program = function({a, b}, {mapped}).explain().program;
  EXPECT_EQ(program.find("loop"), std::string::npos) << program;
}

}  // namespace
}  // namespace thtrain::factor_test
