// oneDNN's product, where it is installed, compared with the library's.
#include "compiler/libraries/onednn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/libraries/matrix_products.h"

namespace thtrain::onednn_test {
namespace {

std::vector<float> numbers(long count, long seed) {
  std::vector<float> out(static_cast<size_t>(count));
  for (long i = 0; i < count; ++i) out[static_cast<size_t>(i)] = static_cast<float>((i * 37 + seed) % 101 - 50) / 50;
  return out;
}

TEST(OneDnn, ComputesWhatTheLibraryComputes) {
  if (!onednn()) GTEST_SKIP() << "oneDNN is not installed";
  EXPECT_TRUE(onednn()->version.starts_with("oneDNN ")) << onednn()->version;
  ThContext context{};
  context.version = TH_ABI_VERSION;
  const long m = 61, n = 130, k = 97, spare = 3;  // rows with something behind them
  for (int threads : {1, 2, 5})
    for (int trans_a : {0, 1})
      for (int trans_b : {0, 1})
        for (float beta : {0.0f, 0.5f}) {
          SCOPED_TRACE(str("threads ", threads, ", transposed ", trans_a, trans_b, ", beta ", beta));
          context.threads = threads;
          long lda = (trans_a ? m : k) + spare, ldb = (trans_b ? k : n) + spare, ldc = n + spare;
          std::vector<float> a = numbers(lda * (trans_a ? k : m), 1), b = numbers(ldb * (trans_b ? n : k), 2);
          std::vector<float> c = numbers(ldc * m, 3), expected = c;
          const float alpha = 0.25f;
          if (beta == 0) std::fill(c.begin(), c.end(), NAN);  // not to be read
          onednn_f32(&context, trans_a, trans_b, m, n, k, &alpha, a.data(), lda, b.data(), ldb, &beta, beta != 0,
                     c.data(), ldc);
          matrix_products().gemm_f32(&context, trans_a, trans_b, m, n, k, &alpha, a.data(), lda, b.data(), ldb, &beta,
                                     beta != 0, expected.data(), ldc);
          for (long i = 0; i < m; ++i)
            for (long j = 0; j < n; ++j)
              ASSERT_NEAR(c[static_cast<size_t>(i * ldc + j)], expected[static_cast<size_t>(i * ldc + j)], 1e-4)
                  << i << ", " << j;
        }
}

TEST(OneDnn, AFactorOfZeroLosesNoNaN) {
  if (!onednn()) GTEST_SKIP() << "oneDNN is not installed";
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = 2;
  const long m = 70, n = 40, k = 30;
  for (auto [alpha, beta] : {std::pair(0.0f, 1.0f), {1.0f, 0.0f}, {0.0f, 0.0f}}) {
    SCOPED_TRACE(str("alpha ", alpha, ", beta ", beta));
    std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2), c = numbers(m * n, 3);
    a[3 * k + 5] = NAN;        // row 3
    c[10 * n + 7] = INFINITY;  // 0 times inf is NaN
    onednn_f32(&context, 0, 0, m, n, k, &alpha, a.data(), k, b.data(), n, &beta, 1, c.data(), n);
    for (long i = 0; i < m; ++i)
      for (long j = 0; j < n; ++j) {
        const bool is_nan = i == 3 || (i == 10 && j == 7 && beta == 0);
        ASSERT_EQ(std::isnan(c[static_cast<size_t>(i * n + j)]), is_nan) << i << ", " << j;
      }
  }
}

}  // namespace
}  // namespace thtrain::onednn_test
