// After NumPy's linalg/tests/test_linalg.py: square, Hermitian and other matrices, norms, and what is made of these.
//
// Not expressed: stable results of half precision, matrices as a class of their own, orders of norms by name, empty
// stacks of every op (factor_golden_test.cpp has them), and outputs that are sorted by LAPACK alone.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "compiler/api.h"
#include "tests/compiler/suites/linalg_values.h"

namespace thtrain::linalg_suite {
namespace {

using G = Given&;
constexpr double kInf = std::numeric_limits<double>::infinity();

const std::vector<MatrixOfSuite>& squares() {
  static const std::vector<MatrixOfSuite> out = {{"single", {2, 2}, DType::kFloat32, 1},
                                                 {"double", {2, 2}, DType::kFloat64, 2},
                                                 {"double_2", {3, 3}, DType::kFloat64, 3},
                                                 {"csingle", {2, 2}, DType::kComplex64, 4},
                                                 {"cdouble", {2, 2}, DType::kComplex128, 5},
                                                 {"cdouble_2", {3, 3}, DType::kComplex128, 6},
                                                 {"0x0", {0, 0}, DType::kFloat64, 0},
                                                 {"8x8", {8, 8}, DType::kFloat64, 7},
                                                 {"1x1", {1, 1}, DType::kFloat64, 8},
                                                 {"double_tile213", {2, 1, 3, 3}, DType::kFloat64, 9},
                                                 {"cdouble_tile213", {2, 1, 2, 2}, DType::kComplex128, 10}};
  return out;
}

void add(std::vector<SuiteCase>& cases, const std::string& name, std::function<All(G)> build) {
  cases.push_back(made_case(name, [build = std::move(build)](G g) { return parts(build(g)); }));
}

TEST(LinalgSuite, Square) {
  std::vector<SuiteCase> cases;
  for (const MatrixOfSuite& m : squares()) {
    const std::string of = str("[", m.name, "]");
    const int64_t n = m.shape.back();
    const auto right = [m, n](G g) { return cast(g.known(spread({n, 3}, m.seed + 1)), real_dtype(m.dtype)); };
    add(cases, "TestSolve" + of, [=](G g) { return All{solve(m.of(g), right(g))}; });
    add(cases, str("TestSolve[", m.name, ",vector]"), [=](G g) {
      const Expr b = right(g);
      return All{solve(m.of(g), b[{all(), 0}])};
    });
    add(cases, "TestInv" + of, [=](G g) { return All{inverse(m.of(g))}; });
    add(cases, "TestDet" + of, [=](G g) {
      const Expr a = m.of(g);
      return All{det(a), slogdet(a).sign, slogdet(a).log};
    });
    for (const int64_t power : n < 8 ? std::vector<int64_t>{-3, 0, 2, 5} : std::vector<int64_t>{2})
      add(cases, str("TestMatrixPower[", m.name, ",", power, "]"),
          [=](G g) { return All{matrix_power(m.of(g), power)}; });
    if (n == 0) continue;
    add(cases, "TestEigvals" + of, [=](G g) { return All{eigvals(m.of(g))}; });
    add(cases, "TestSVDvals" + of, [=](G g) { return All{svdvals(m.of(g))}; });
    add(cases, "TestPinv" + of, [=](G g) { return All{pinv(m.of(g))}; });
    add(cases, "TestCond" + of, [=](G g) {
      const Expr a = m.of(g);
      return All{cond(a), cond(a, -2), cond(a, 1), cond(a, -1), cond(a, kInf), cond(a, -kInf)};
    });
    add(cases, "TestQR" + of, [=](G g) {
      const QrFactors f = qr(m.of(g));
      return All{f.q, f.r};
    });
    add(cases, "TestMatrixRank" + of, [=](G g) { return All{matrix_rank(m.of(g))}; });
  }
  expect_suite("linalg", "square", cases);
}

TEST(LinalgSuite, Hermitian) {
  std::vector<SuiteCase> cases;
  for (const MatrixOfSuite& m : squares()) {
    if (m.shape.back() == 0) continue;
    const auto hermitian = [m](G g) {
      const Expr a = m.of(g);
      return a + adjoint_of(a);
    };
    const auto definite = [m](G g) {
      const Expr a = m.of(g);
      return matmul(a, adjoint_of(a)) + eye(m.shape.back(), {}, 0, real_dtype(m.dtype));
    };
    const std::string of = str("[h", m.name, "]");
    add(cases, "TestEigvalsh" + of, [=](G g) { return All{eigvalsh(hermitian(g))}; });
    add(cases, "TestEigh" + of, [=](G g) {
      const EigenPairs e = eigh(hermitian(g));
      return All{e.values, matmul(e.vectors * expand_dims(e.values, {-2}), adjoint_of(e.vectors))};
    });
    add(cases, "TestPinvHermitian" + of, [=](G g) { return All{pinv(hermitian(g))}; });
    add(cases, str("TestCholesky[", m.name, "]"), [=](G g) {
      const Expr a = definite(g);
      return All{cholesky(a), cholesky(a, true)};
    });
    add(cases, str("test_cholesky_solve[", m.name, "]"), [=](G g) {
      return All{cholesky_solve(cholesky(definite(g)), eye(m.shape.back(), {}, 0, real_dtype(m.dtype)))};
    });
  }
  expect_suite("linalg", "hermitian", cases);
}

TEST(LinalgSuite, NotSquare) {
  std::vector<SuiteCase> cases;
  const std::vector<MatrixOfSuite> tall = {{"single_nsq_2", {3, 2}, DType::kFloat32, 1},
                                           {"double_nsq_2", {3, 2}, DType::kFloat64, 2},
                                           {"csingle_nsq_2", {3, 2}, DType::kComplex64, 3},
                                           {"cdouble_nsq_2", {3, 2}, DType::kComplex128, 4},
                                           {"8x5", {8, 5}, DType::kFloat64, 5},
                                           {"5x1", {5, 1}, DType::kFloat64, 6},
                                           {"tile", {2, 1, 4, 2}, DType::kFloat64, 7}};
  for (const MatrixOfSuite& m : tall)
    for (const bool is_wide : {false, true}) {
      const auto matrix = [=](G g) { return is_wide ? matrix_transpose(m.of(g)) : m.of(g); };
      const int64_t rows = m.shape[m.shape.size() - (is_wide ? 1 : 2)];
      const std::string of = str("[", m.name, is_wide ? ",wide]" : "]");
      add(cases, "TestSVD" + of, [=](G g) { return All{svdvals(matrix(g))}; });
      add(cases, "TestPinvNonsquare" + of, [=](G g) { return All{pinv(matrix(g))}; });
      add(cases, "TestMatrixRank" + of, [=](G g) { return All{matrix_rank(matrix(g))}; });
      add(cases, "TestCondNonsquare" + of, [=](G g) {
        const Expr a = matrix(g);
        return All{cond(a), cond(a, -2)};
      });
      add(cases, "TestLstsq" + of, [=](G g) {
        return All{lstsq(matrix(g), cast(g.known(spread({rows, 2}, m.seed + 2)), real_dtype(m.dtype)))};
      });
    }
  expect_suite("linalg", "nonsquare", cases);
}

std::string order_name(const std::optional<double>& p) {
  if (!p) return "None";
  if (*p == 0.5) return "0.5";
  return *p == kInf ? "inf" : *p == -kInf ? "-inf" : str(static_cast<int64_t>(*p));
}

TEST(LinalgSuite, Norms) {
  std::vector<SuiteCase> cases;
  using Order = std::optional<double>;
  const std::vector<std::pair<DType, std::string>> dtypes = {
      {DType::kFloat64, "Double"}, {DType::kFloat32, "Single"}, {DType::kInt64, "Int64"}};
  for (const auto& [dtype, label] : dtypes) {
    const auto of = [dtype = dtype](const std::vector<double>& x, const Shape& shape) {
      return Tensor::of(x, shape).cast(dtype);
    };
    const Tensor v = of({1, 2, -3, 4, 0}, {5}), m = of({1, 3, 2, 5, -7, 4}, {2, 3}),
                 cube = count({2, 3, 4}, -11).cast(dtype);
    const std::string test = str("TestNorm", label, ".test_");
    for (const Order p : {Order(), Order(kInf), Order(-kInf), Order(0), Order(1), Order(2), Order(3), Order(0.5)})
      add(cases, str(test, "vector[", order_name(p), "]"), [=](G g) { return All{norm(g.known(v), p)}; });
    for (const Order p : {Order(), Order(kInf), Order(-kInf), Order(1), Order(-1), Order(2), Order(-2)})
      add(cases, str(test, "matrix[", order_name(p), "]"), [=](G g) { return All{norm(g.known(m), p)}; });
    add(cases, test + "matrix[nuc]", [=](G g) { return All{nuclear_norm(g.known(m))}; });
    const bool is_double = dtype == DType::kFloat64;
    for (const int64_t axis : is_double ? std::vector<int64_t>{0, 1, 2, -1} : std::vector<int64_t>{1})
      for (const Order p : {Order(), Order(1), Order(3), Order(kInf)})
        add(cases, str(test, "axis[", axis, ",", order_name(p), "]"), [=](G g) {
          const Expr x = g.known(cube);
          return All{norm(x, p, {axis}), norm(x, p, {axis}, true)};
        });
    using Pairs = std::vector<std::vector<int64_t>>;
    for (const auto& axes : is_double ? Pairs{{0, 1}, {1, 2}, {2, 0}, {-1, -2}} : Pairs{{2, 0}})
      for (const Order p : {Order(), Order(1), Order(-1), Order(kInf), Order(2)})
        add(cases, str(test, "axis[", axes[0], ",", axes[1], ",", order_name(p), "]"),
            [=](G g) { return All{norm(g.known(cube), p, axes)}; });
    add(cases, test + "empty", [=](G g) { return All{norm(g.known(of({}, {0})))}; });
  }
  expect_suite("linalg", "norms", cases);
}

}  // namespace
}  // namespace thtrain::linalg_suite
