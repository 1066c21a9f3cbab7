// Factorizations by several threads: their products are the matrices that were factored, and what they fail at is what
// LAPACK's own would name.
#include "compiler/libraries/blocked_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace thtrain {
namespace {

template <class T>
class BlockedFactors : public testing::Test {};
using Elements = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BlockedFactors, Elements);

template <class T>
T conjugated(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}

// By columns.
template <class T>
struct Columns {
  int rows, columns;
  std::vector<T> values;
  Columns(int m, int n) : rows(m), columns(n), values(static_cast<size_t>(m) * static_cast<size_t>(n)) {}
  T& operator()(int i, int j) {
    return values[static_cast<size_t>(i) + static_cast<size_t>(j) * static_cast<size_t>(rows)];
  }
  const T& operator()(int i, int j) const {
    return values[static_cast<size_t>(i) + static_cast<size_t>(j) * static_cast<size_t>(rows)];
  }
};

template <class T>
Columns<T> drawn(int m, int n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Columns<T> out(m, n);
  for (T& x : out.values) {
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(uniform(random));
    else
      x = T(static_cast<typename T::value_type>(uniform(random)), static_cast<typename T::value_type>(uniform(random)));
  }
  return out;
}

template <class T>
Columns<T> product(const Columns<T>& a, const Columns<T>& b) {
  Columns<T> out(a.rows, b.columns);
  for (int j = 0; j < b.columns; ++j)
    for (int k = 0; k < a.columns; ++k)
      for (int i = 0; i < a.rows; ++i) out(i, j) += a(i, k) * b(k, j);
  return out;
}

template <class T>
Columns<T> adjoint(const Columns<T>& a) {
  Columns<T> out(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) out(j, i) = conjugated(a(i, j));
  return out;
}

template <class T>
void expect_near(const Columns<T>& a, const Columns<T>& b, double bound) {
  ASSERT_EQ(a.values.size(), b.values.size());
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(a.values[i] - b.values[i])));
  EXPECT_LE(largest, bound);
}

template <class T>
double unit() {
  return std::numeric_limits<decltype(std::abs(T()))>::epsilon();
}

// One panel; a panel and a column; several with a rest.
constexpr int kLengths[] = {1, 40, 64, 65, 200, 257};

TYPED_TEST(BlockedFactors, ProductsAreTheMatrices) {
  using T = TypeParam;
  find_blocked_factors<T>();
  for (const int threads : {1, 2, 3})
    for (const int n : kLengths) {
      SCOPED_TRACE(testing::Message() << n << " by " << threads << " threads");
      const double bound = 8 * n * unit<T>();
      const Columns<T> x = drawn<T>(n, n);
      Columns<T> definite = product(x, adjoint(x));
      for (int i = 0; i < n; ++i) definite(i, i) += T(static_cast<float>(n));
      Columns<T> l = definite;
      ASSERT_EQ(blocked_cholesky(threads, n, l.values.data()), 0);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < j; ++i) l(i, j) = T(0);
      expect_near(product(l, adjoint(l)), definite, bound * n);

      Columns<T> packed = x, lower(n, n), upper(n, n), rows = x;
      std::vector<int> pivots(static_cast<size_t>(n));
      blocked_lu(threads, n, packed.values.data(), pivots.data());
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) (i > j ? lower : upper)(i, j) = packed(i, j);
      for (int i = 0; i < n; ++i) {
        lower(i, i) = T(1);
        for (int j = 0; j < n; ++j) std::swap(rows(i, j), rows(pivots[static_cast<size_t>(i)] - 1, j));
      }
      expect_near(product(lower, upper), rows, bound * 8);
      for (const T& factor : lower.values) EXPECT_LE(std::abs(factor), std::sqrt(2.) + 1e-3);

      const Columns<T> tall = drawn<T>(n + 30, n);
      Columns<T> q = tall, r(n, n), identity(n, n);
      std::vector<T> tau(static_cast<size_t>(n));
      blocked_qr(threads, n + 30, n, q.values.data(), tau.data());
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i <= j; ++i) r(i, j) = q(i, j);
        identity(j, j) = T(1);
      }
      blocked_q(threads, n + 30, n, q.values.data(), tau.data());
      expect_near(product(q, r), tall, bound * 4);
      expect_near(product(adjoint(q), q), identity, bound);
    }
}

TYPED_TEST(BlockedFactors, ThreadsDoNotChangeBits) {
  using T = TypeParam;
  find_blocked_factors<T>();
  const int n = 300;
  const Columns<T> x = drawn<T>(n, n);
  std::vector<std::vector<T>> found;
  for (const int threads : {1, 2, 3}) {
    Columns<T> packed = x, q = x;
    std::vector<int> pivots(static_cast<size_t>(n));
    std::vector<T> tau(static_cast<size_t>(n));
    blocked_lu(threads, n, packed.values.data(), pivots.data());
    blocked_qr(threads, n, n, q.values.data(), tau.data());
    blocked_q(threads, n, n, q.values.data(), tau.data());
    packed.values.insert(packed.values.end(), q.values.begin(), q.values.end());
    found.push_back(packed.values);
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TYPED_TEST(BlockedFactors, NamesThePivot) {
  using T = TypeParam;
  find_blocked_factors<T>();
  const int n = 200;
  for (const int wrong : {0, 63, 64, 150, 199}) {
    Columns<T> x(n, n);
    for (int i = 0; i < n; ++i) x(i, i) = T(1);
    x(wrong, wrong) = T(-1);
    EXPECT_EQ(blocked_cholesky(2, n, x.values.data()), wrong + 1);
  }
}

}  // namespace
}  // namespace thtrain
