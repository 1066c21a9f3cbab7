// The emulated cuSOLVER by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cusolver_test {
namespace {

using namespace cuda;  // NOLINT

class EmulatedCusolver : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    ASSERT_EQ(c_.cusolverDnCreate(&handle_), CUSOLVER_STATUS_SUCCESS);
    ASSERT_EQ(c_.cusolverDnCreateParams(&parameters_), CUSOLVER_STATUS_SUCCESS);
    ASSERT_EQ(c_.cusolverDnSetStream(handle_, stream_->handle()), CUSOLVER_STATUS_SUCCESS);
    info_ = put<int>({-1});
    buffer_ = put<char>(std::vector<char>(4096));
  }
  static void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12) << i;
  }
  Status potrf(double* a, int64_t n, int64_t lda, size_t bytes = 4096) {
    return c_.cusolverDnXpotrf(handle_, parameters_, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, a, lda, CUDA_R_64F, buffer_,
                               bytes, nullptr, 0, info_);
  }

  const Cusolver& c_ = emulated::cusolver().functions;
  cusolverDnContext* handle_ = nullptr;
  cusolverDnParams* parameters_ = nullptr;
  int* info_ = nullptr;
  char* buffer_ = nullptr;
};

// [4 2; 2 10] = U^T U with U = [2 1; 0 3], by columns three elements apart; what is below the diagonal stays.
TEST_F(EmulatedCusolver, PotrfReadsAndWritesTheUpperTriangleOfColumns) {
  double* a = put<double>({4, 77, 88, 2, 10, 88});
  ASSERT_EQ(potrf(a, 2, 3), CUSOLVER_STATUS_SUCCESS);
  expect_near(got(a, 6), {2, 77, 88, 1, 3, 88});
  EXPECT_EQ(got(info_, 1)[0], 0);
}

TEST_F(EmulatedCusolver, InfoIsTheOrderOfTheFirstPartThatIsNotPositiveDefinite) {
  ASSERT_EQ(potrf(put<double>({4, 0, 0, 2, 1, 0, 0, 0, 5}), 3, 3), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(got(info_, 1)[0], 2);
}

// [2 1; 1 2]: vectors are columns, of either sign.
TEST_F(EmulatedCusolver, SyevdGivesVectorsAsColumnsOfEitherSign) {
  double *a = put<double>({2, NAN, 1, 2}), *w = put<double>({0, 0});
  ASSERT_EQ(c_.cusolverDnXsyevd(handle_, parameters_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 2, CUDA_R_64F,
                                a, 2, CUDA_R_64F, w, CUDA_R_64F, buffer_, 4096, nullptr, 0, info_),
            CUSOLVER_STATUS_SUCCESS);
  const double h = std::sqrt(0.5);
  expect_near(got(w, 2), {1, 3});
  expect_near(got(a, 4), {-h, h, h, h});
}

// Columns [3 0 4] and [0 5 0]: singular values 5 and 5 are not told apart, so one is made larger.
TEST_F(EmulatedCusolver, GesvdIsOfAtLeastAsManyRowsAsColumns) {
  double *a = put<double>({3, 0, 4, 0, 7, 0}), *s = put<double>({0, 0}), *u = put<double>(std::vector<double>(6)),
         *vt = put<double>(std::vector<double>(4));
  const auto gesvd = [&](int64_t m, int64_t n, signed char job) {
    return c_.cusolverDnXgesvd(handle_, parameters_, job, job, m, n, CUDA_R_64F, a, m, CUDA_R_64F, s, CUDA_R_64F, u, m,
                               CUDA_R_64F, vt, n, CUDA_R_64F, buffer_, 4096, nullptr, 0, info_);
  };
  EXPECT_EQ(gesvd(2, 3, 'S'), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(gesvd(3, 2, 'X'), CUSOLVER_STATUS_INVALID_VALUE);
  ASSERT_EQ(gesvd(3, 2, 'S'), CUSOLVER_STATUS_SUCCESS);
  expect_near(got(s, 2), {7, 5});
  const std::vector<double> left = got(u, 6), right = got(vt, 4);
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 2; ++j)
      EXPECT_NEAR(left[i] * 7 * right[2 * j] + left[3 + i] * 5 * right[2 * j + 1],
                  (std::vector<double>{3, 0, 4, 0, 7, 0})[3 * j + i], 1e-12);
}

TEST_F(EmulatedCusolver, MisuseHasItsStatus) {
  double* a = put<double>({4, 0, 0, 4});
  EXPECT_EQ(potrf(a, 2, 1), CUSOLVER_STATUS_INVALID_VALUE) << "a leading dimension";
  EXPECT_EQ(potrf(a, 3, 3), CUSOLVER_STATUS_INVALID_VALUE) << "beyond the allocation";
  EXPECT_EQ(potrf(a, 2, 2, 8), CUSOLVER_STATUS_INVALID_VALUE) << "a buffer of too few bytes";
  size_t on_device = 0, on_host = 0;
  ASSERT_EQ(c_.cusolverDnXpotrf_bufferSize(handle_, parameters_, CUBLAS_FILL_MODE_UPPER, 2, CUDA_R_64F, a, 2,
                                           CUDA_R_64F, &on_device, &on_host),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(potrf(a, 2, 2, on_device), CUSOLVER_STATUS_SUCCESS);
  stream_->wait();
  EXPECT_EQ(c_.cusolverDnDestroy(handle_), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(potrf(a, 2, 2), CUSOLVER_STATUS_NOT_INITIALIZED);
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cusolver_test
