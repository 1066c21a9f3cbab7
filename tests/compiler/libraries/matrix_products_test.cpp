// Tests of compiler/libraries/matrix_products.h: every callback against its definition.
#include "compiler/libraries/matrix_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

template <class T>
using Matrix = std::vector<T>;

constexpr double kPadding = -777;  // between rows; must stay

template <class T>
Matrix<T> random_matrix(long rows, long columns, long ld, unsigned seed) {
  std::mt19937 generator(seed);
  Matrix<T> out(static_cast<size_t>(std::max(rows * ld, 1L)), static_cast<T>(kPadding));
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j)
      out[static_cast<size_t>(i * ld + j)] = static_cast<T>(static_cast<double>(generator()) / 4294967296.0 - 0.5);
  return out;
}

ThContext context_with(int threads) {
  ThContext out{};
  out.threads = threads;
  return out;
}

template <class T>
auto gemm_of() {
  if constexpr (std::is_same_v<T, float>)
    return matrix_products().gemm_f32;
  else
    return matrix_products().gemm_f64;
}
template <class T>
auto gemv_of() {
  if constexpr (std::is_same_v<T, float>)
    return matrix_products().gemv_f32;
  else
    return matrix_products().gemv_f64;
}
template <class T>
auto ger_of() {
  if constexpr (std::is_same_v<T, float>)
    return matrix_products().ger_f32;
  else
    return matrix_products().ger_f64;
}

/// Of a factor, for the call that it is written in.
template <class T>
const T* at(const T& factor) {
  return &factor;
}

/// Sums of k products of values within 0.5, and the rounding of the result.
template <class T>
double bound(long k, double alpha, double beta) {
  return (std::abs(alpha) * (0.25 * static_cast<double>(k) + 1) * (static_cast<double>(k) + 4) + std::abs(beta)) *
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

struct GemmCase {
  long m, n, k;
  int trans_a, trans_b;
  double alpha, beta;
  long pad;
  int threads;
};

template <class T>
void check_gemm(const GemmCase& g) {
  SCOPED_TRACE(testing::Message() << "[" << g.m << "," << g.k << "]x[" << g.k << "," << g.n << "] trans " << g.trans_a
                                  << g.trans_b << " alpha " << g.alpha << " beta " << g.beta << " pad " << g.pad
                                  << " threads " << g.threads << " bytes " << sizeof(T));
  long a_rows = g.trans_a ? g.k : g.m, a_columns = g.trans_a ? g.m : g.k;
  long b_rows = g.trans_b ? g.n : g.k, b_columns = g.trans_b ? g.k : g.n;
  long lda = a_columns + g.pad, ldb = b_columns + g.pad, ldc = g.n + g.pad;
  auto a = random_matrix<T>(a_rows, a_columns, lda, 1), b = random_matrix<T>(b_rows, b_columns, ldb, 2);
  auto before = random_matrix<T>(g.m, g.n, ldc, 3);
  if (g.beta == 0)  // what lies in C must not matter
    for (long i = 0; i < g.m; ++i)
      for (long j = 0; j < g.n; ++j) before[static_cast<size_t>(i * ldc + j)] = std::numeric_limits<T>::quiet_NaN();
  auto c = before;
  ThContext context = context_with(g.threads);
  gemm_of<T>()(&context, g.trans_a, g.trans_b, g.m, g.n, g.k, at(static_cast<T>(g.alpha)), a.data(), lda, b.data(), ldb,
               at(static_cast<T>(g.beta)), g.beta != 0, c.data(), ldc);
  double tolerance = bound<T>(g.k, g.alpha, g.beta);
  for (long i = 0; i < g.m; ++i)
    for (long j = 0; j < ldc; ++j) {
      double got = static_cast<double>(c[static_cast<size_t>(i * ldc + j)]);
      if (j >= g.n) {
        ASSERT_EQ(got, kPadding);
        continue;
      }
      double sum = 0;
      for (long p = 0; p < g.k; ++p)
        sum += static_cast<double>(a[static_cast<size_t>(g.trans_a ? p * lda + i : i * lda + p)]) *
               static_cast<double>(b[static_cast<size_t>(g.trans_b ? j * ldb + p : p * ldb + j)]);
      double want = g.alpha * sum;
      if (g.beta != 0) want += g.beta * static_cast<double>(before[static_cast<size_t>(i * ldc + j)]);
      ASSERT_NEAR(got, want, tolerance) << "at " << i << ", " << j;
    }
}

void check_gemm_both(const GemmCase& g) {
  check_gemm<float>(g);
  check_gemm<double>(g);
}

struct Sizes {
  long m, n, k;
};

TEST(Gemm, AllFormsOfSmallSizes) {
  for (Sizes s : {Sizes{0, 3, 4},
                  {3, 0, 4},
                  {3, 4, 0},
                  {1, 1, 0},
                  {1, 1, 1},
                  {1, 7, 5},
                  {7, 1, 5},
                  {1, 1, 9},
                  {5, 6, 1},
                  {2, 3, 4},
                  {13, 17, 11},
                  {33, 16, 5}})
    for (int trans_a : {0, 1})
      for (int trans_b : {0, 1})
        for (double alpha : {1.0, -0.5, 0.0})
          for (double beta : {0.0, 1.0, 0.25})
            for (long pad : {0L, 3L}) check_gemm_both({s.m, s.n, s.k, trans_a, trans_b, alpha, beta, pad, 1});
}

TEST(Gemm, DividedAmongThreads) {
  for (Sizes s : {Sizes{96, 80, 100}, {130, 37, 71}, {37, 130, 71}, {60, 50, 301}})
    for (int trans_a : {0, 1})
      for (int trans_b : {0, 1})
        for (double beta : {0.0, 1.0, 0.25})
          for (int threads : {2, 3, 5}) check_gemm_both({s.m, s.n, s.k, trans_a, trans_b, -0.5, beta, 3, threads});
}

TEST(Gemm, ShortSidesMadeOfBlocks) {
  for (Sizes s : {Sizes{20, 300, 200}, {300, 10, 400}, {7, 600, 260}})
    for (int trans_a : {0, 1})
      for (int trans_b : {0, 1})
        for (double beta : {0.0, 0.25})
          for (int threads : {1, 2}) check_gemm_both({s.m, s.n, s.k, trans_a, trans_b, 1.5, beta, 2, threads});
}

TEST(Gemm, AnInnerLengthOfZeroReadsNeitherOperand) {
  ThContext context = context_with(2);
  std::vector<double> c = {1, 2, 3, 4};
  matrix_products().gemm_f64(&context, 0, 0, 2, 2, 0, at(1.0), nullptr, 0, nullptr, 2, at(2.0), 1, c.data(), 2);
  EXPECT_EQ(c, (std::vector<double>{2, 4, 6, 8}));
  matrix_products().gemm_f64(&context, 0, 0, 2, 2, 0, at(1.0), nullptr, 0, nullptr, 2, at(0.0), 0, c.data(), 2);
  EXPECT_EQ(c, (std::vector<double>{0, 0, 0, 0}));
  matrix_products().gemm_f64(&context, 0, 0, 2, 2, 0, at(double{INFINITY}), nullptr, 0, nullptr, 2, at(1.0), 1,
                             c.data(),
                             2);  // inf times 0
  for (double x : c) EXPECT_TRUE(std::isnan(x));
}

// What a factor that only the call knows multiplies stays NaN, as it is written: 0 times NaN, 0 times inf.
template <class T>
struct WithHardValues {
  long rows, columns;
  std::vector<T> elements;
  T& operator()(long i, long j) { return elements[static_cast<size_t>(i * columns + j)]; }
};

template <class T>
WithHardValues<T> with_hard_values(long rows, long columns, unsigned seed) {
  WithHardValues<T> out{rows, columns, random_matrix<T>(rows, columns, columns, seed)};
  const T hard[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                    -std::numeric_limits<T>::infinity(), T(0), T(-0.0)};
  for (long i = 0; i < 5 && i < rows * columns; ++i)
    out.elements[static_cast<size_t>((i * 7919 + seed) % (rows * columns))] = hard[i];
  return out;
}

template <class T>
void expect_same_kind(T got, T want, long i, long j) {
  if (std::isfinite(want))
    ASSERT_NEAR(got, want, 1e-3) << i << ", " << j;
  else if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << got << " at " << i << ", " << j;
  else
    ASSERT_EQ(got, want) << i << ", " << j;
}

template <class T>
void check_zero_factors(long m, long n, long k, int threads, T alpha, T beta) {
  SCOPED_TRACE(testing::Message() << "[" << m << "," << k << "]x[" << k << "," << n << "] alpha " << alpha << " beta "
                                  << beta << " threads " << threads << " bytes " << sizeof(T));
  ThContext context = context_with(threads);
  auto a = with_hard_values<T>(m, k, 1), b = with_hard_values<T>(k, n, 2), c = with_hard_values<T>(m, n, 3);
  auto y = with_hard_values<T>(m, 1, 4), x = with_hard_values<T>(k, 1, 5), row = with_hard_values<T>(n, 1, 6);
  auto product = [&](long i, auto&& of) {
    T sum = 0;
    for (long p = 0; p < k; ++p) sum += a(i, p) * of(p);
    return sum;
  };
  auto whole = c, vector = y, outer = c;
  gemm_of<T>()(&context, 0, 0, m, n, k, &alpha, a.elements.data(), k, b.elements.data(), n, &beta, 1,
               whole.elements.data(), n);
  gemv_of<T>()(&context, 0, m, k, &alpha, a.elements.data(), k, x.elements.data(), 1, &beta, 1, vector.elements.data(),
               1);
  ger_of<T>()(&context, m, n, &alpha, y.elements.data(), 1, row.elements.data(), 1, outer.elements.data(), n);
  for (long i = 0; i < m; ++i) {
    expect_same_kind(vector(i, 0), beta * y(i, 0) + alpha * product(i, [&](long p) { return x(p, 0); }), i, -1);
    for (long j = 0; j < n; ++j) {
      expect_same_kind(whole(i, j), beta * c(i, j) + alpha * product(i, [&](long p) { return b(p, j); }), i, j);
      expect_same_kind(outer(i, j), c(i, j) + alpha * (y(i, 0) * row(j, 0)), i, j);
    }
  }
}

TEST(MatrixProducts, AFactorOfZeroLosesNoNaN) {
  for (Sizes s : {Sizes{1, 1, 1}, {3, 4, 5}, {1, 9, 7}, {9, 1, 7}, {130, 70, 90}})
    for (int threads : {1, 3})
      for (auto [alpha, beta] : {std::pair(0.0, 1.0), {1.0, 0.0}, {0.0, 0.0}, {-0.0, 0.5}, {0.5, -0.0}}) {
        check_zero_factors<float>(s.m, s.n, s.k, threads, static_cast<float>(alpha), static_cast<float>(beta));
        check_zero_factors<double>(s.m, s.n, s.k, threads, alpha, beta);
      }
}

TEST(Gemm, LeadingDimensionOfASingleRowDoesNotMatter) {
  ThContext context = context_with(1);
  std::vector<double> a = {1, 2}, b = {10, 20, 30}, c(6, 7.0);
  matrix_products().gemm_f64(&context, 1, 0, 2, 3, 1, at(1.0), a.data(), 0, b.data(), 1, at(0.0), 0, c.data(),
                             3);  // both stored as a row
  EXPECT_EQ(c, (std::vector<double>{10, 20, 30, 20, 40, 60}));
  std::vector<double> row = {1, 2, 3}, matrix = {1, 0, 0, 1, 1, 1}, out(2, 7.0);
  matrix_products().gemm_f64(&context, 0, 0, 1, 2, 3, at(1.0), row.data(), 0, matrix.data(), 2, at(0.0), 0, out.data(),
                             0);
  EXPECT_EQ(out, (std::vector<double>{4, 5}));
}

TEST(Gemm, RowsThatRepeat) {
  ThContext context = context_with(1);
  std::vector<float> a = {1, 2, 3}, b = {1, 0, 0, 1, 1, 1}, c(4, 7.0f);
  matrix_products().gemm_f32(&context, 0, 0, 2, 2, 3, at(1.0f), a.data(), 0, b.data(), 2, at(0.0f), 0, c.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{4, 5, 4, 5}));
}

TEST(Gemm, SameBitsEveryTimeForOneThreadCount) {
  for (int threads : {1, 2, 3}) {
    ThContext context = context_with(threads);
    auto a = random_matrix<float>(60, 784, 784, 1), b = random_matrix<float>(784, 100, 100, 2);
    std::vector<float> first(6000), again(6000);
    matrix_products().gemm_f32(&context, 0, 0, 60, 100, 784, at(1.0f), a.data(), 784, b.data(), 100, at(0.0f), 0,
                               first.data(), 100);
    for (int round = 0; round < 20; ++round) {
      matrix_products().gemm_f32(&context, 0, 0, 60, 100, 784, at(1.0f), a.data(), 784, b.data(), 100, at(0.0f), 0,
                                 again.data(), 100);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0);
    }
    // Inside a loop body the same pieces run on one thread.
    run_pieces(2, [&](int piece) {
      if (piece != 0) return;
      matrix_products().gemm_f32(&context, 0, 0, 60, 100, 784, at(1.0f), a.data(), 784, b.data(), 100, at(0.0f), 0,
                                 again.data(), 100);
    });
    ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0);
  }
}

TEST(GemmGrid, CutsTheLongSideAndLeavesSmallProductsWhole) {
  auto grid = [](long m, long n, long k, int threads) {
    detail::GemmGrid g = detail::gemm_grid(m, n, k, threads);
    return std::pair(g.row_pieces, g.column_pieces);
  };
  EXPECT_EQ(grid(60, 500, 784, 2), std::pair(1, 2));
  EXPECT_EQ(grid(784, 500, 60, 2), std::pair(2, 1));
  EXPECT_EQ(grid(60, 784, 500, 2), std::pair(1, 2));
  EXPECT_EQ(grid(600, 10, 784, 2), std::pair(2, 1));
  EXPECT_EQ(grid(1024, 1024, 1024, 4), std::pair(2, 2));
  EXPECT_EQ(grid(64, 60, 50, 2), std::pair(1, 1));
  EXPECT_EQ(grid(784, 500, 60, 1), std::pair(1, 1));
}

template <class T>
void check_gemv(int trans, long m, long n, double alpha, double beta, long pad, long incx, long incy, int threads) {
  SCOPED_TRACE(testing::Message() << "[" << m << "," << n << "] trans " << trans << " alpha " << alpha << " beta "
                                  << beta << " inc " << incx << " " << incy << " threads " << threads);
  long lda = n + pad, inner = trans ? m : n, length = trans ? n : m;
  auto a = random_matrix<T>(m, n, lda, 1);
  auto x = random_matrix<T>(inner, 1, std::max(std::abs(incx), 1L), 2);
  auto y = random_matrix<T>(length, 1, std::abs(incy), 3);
  const T* x0 = x.data() + (incx < 0 ? (inner - 1) * -incx : 0);
  T* y0 = y.data() + (incy < 0 && length > 0 ? (length - 1) * -incy : 0);
  if (beta == 0)
    for (long i = 0; i < length; ++i) y0[i * incy] = std::numeric_limits<T>::quiet_NaN();
  auto before = y;
  ThContext context = context_with(threads);
  gemv_of<T>()(&context, trans, m, n, at(static_cast<T>(alpha)), a.data(), lda, x0, incx, at(static_cast<T>(beta)),
               beta != 0, y0, incy);
  for (long i = 0; i < length; ++i) {
    double want = 0;
    for (long p = 0; p < inner; ++p)
      want += static_cast<double>(a[static_cast<size_t>(trans ? p * lda + i : i * lda + p)]) *
              static_cast<double>(x0[p * incx]);
    want *= alpha;
    if (beta != 0) want += beta * static_cast<double>(before[static_cast<size_t>(y0 + i * incy - y.data())]);
    ASSERT_NEAR(static_cast<double>(y0[i * incy]), want, bound<T>(inner, alpha, beta)) << "at " << i;
  }
}

TEST(Gemv, AllForms) {
  for (auto [m, n] : {std::pair(0L, 3L), {3L, 0L}, {1L, 1L}, {1L, 6L}, {6L, 1L}, {7L, 5L}, {19L, 34L}})
    for (int trans : {0, 1})
      for (double alpha : {1.0, -0.5, 0.0})
        for (double beta : {0.0, 1.0, 0.25})
          for (auto [incx, incy] : {std::pair(1L, 1L), {3L, 2L}, {-1L, 1L}, {1L, -2L}, {0L, 1L}}) {
            check_gemv<float>(trans, m, n, alpha, beta, 2, incx, incy, 1);
            check_gemv<double>(trans, m, n, alpha, beta, 0, incx, incy, 1);
          }
}

TEST(Gemv, DividedAmongThreads) {
  for (int trans : {0, 1})
    for (int threads : {2, 3})
      for (auto [m, n] : {std::pair(500L, 400L), {40L, 5000L}, {5000L, 41L}}) {
        check_gemv<float>(trans, m, n, 1.0, 0.0, 1, 1, 1, threads);
        check_gemv<double>(trans, m, n, 2.0, 0.5, 0, -2, -3, threads);
      }
}

template <class T>
void check_ger(long m, long n, double alpha, long pad, long incx, long incy, int threads) {
  SCOPED_TRACE(testing::Message() << "[" << m << "," << n << "] inc " << incx << " " << incy << " threads " << threads);
  long lda = n + pad;
  auto a = random_matrix<T>(m, n, lda, 1);
  auto x = random_matrix<T>(m, 1, std::max(std::abs(incx), 1L), 2);
  auto y = random_matrix<T>(n, 1, std::max(std::abs(incy), 1L), 3);
  const T* x0 = x.data() + (incx < 0 && m > 0 ? (m - 1) * -incx : 0);
  const T* y0 = y.data() + (incy < 0 && n > 0 ? (n - 1) * -incy : 0);
  auto before = a;
  ThContext context = context_with(threads);
  ger_of<T>()(&context, m, n, at(static_cast<T>(alpha)), x0, incx, y0, incy, a.data(), lda);
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < lda; ++j) {
      size_t at = static_cast<size_t>(i * lda + j);
      double want = static_cast<double>(before[at]);
      if (j < n) want += alpha * static_cast<double>(x0[i * incx]) * static_cast<double>(y0[j * incy]);
      ASSERT_NEAR(static_cast<double>(a[at]), want, j < n ? bound<T>(1, alpha, 1) : 0) << "at " << i << ", " << j;
    }
}

TEST(Ger, AllForms) {
  for (auto [m, n] : {std::pair(0L, 3L), {3L, 0L}, {1L, 1L}, {1L, 6L}, {6L, 1L}, {7L, 5L}})
    for (double alpha : {1.0, -0.5, 0.0})
      for (auto [incx, incy] : {std::pair(1L, 1L), {3L, 2L}, {-1L, 1L}, {1L, -2L}, {0L, 1L}, {1L, 0L}}) {
        check_ger<float>(m, n, alpha, 2, incx, incy, 1);
        check_ger<double>(m, n, alpha, 0, incx, incy, 1);
      }
  for (int threads : {2, 3}) {
    check_ger<float>(501, 400, 1.0, 1, 1, 1, threads);
    check_ger<double>(501, 400, -0.5, 0, -2, 3, threads);
  }
}

}  // namespace
}  // namespace thtrain
