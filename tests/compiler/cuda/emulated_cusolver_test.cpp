// The emulated cuSOLVER by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
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

using C = std::complex<double>;

// [4 2i; -2i 10] = U^H U with U = [2 i; 0 3].
TEST_F(EmulatedCusolver, PotrfOfComplexNumbersIsHermitian) {
  C* a = put<C>({{4, 0}, {77, 0}, {0, 2}, {10, 0}});
  ASSERT_EQ(c_.cusolverDnXpotrf(handle_, parameters_, CUBLAS_FILL_MODE_UPPER, 2, CUDA_C_64F, a, 2, CUDA_C_64F, buffer_,
                                4096, nullptr, 0, info_),
            CUSOLVER_STATUS_SUCCESS);
  const std::vector<C> expected{{2, 0}, {77, 0}, {0, 1}, {3, 0}}, found = got(a, 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_LT(std::abs(found[i] - expected[i]), 1e-12) << i;
}

// A v = w v of A = [2 i; -i 2], whose eigenvalues are 1 and 3, real numbers.
TEST_F(EmulatedCusolver, SyevdOfComplexNumbersHasRealValues) {
  C* a = put<C>({{2, 0}, {NAN, 0}, {0, 1}, {2, 0}});
  double* w = put<double>({0, 0});
  const auto syevd = [&](int of_values) {
    return c_.cusolverDnXsyevd(handle_, parameters_, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 2, CUDA_C_64F, a,
                               2, of_values, w, CUDA_C_64F, buffer_, 4096, nullptr, 0, info_);
  };
  EXPECT_EQ(syevd(CUDA_C_64F), CUSOLVER_STATUS_INVALID_VALUE);
  ASSERT_EQ(syevd(CUDA_R_64F), CUSOLVER_STATUS_SUCCESS);
  expect_near(got(w, 2), {1, 3});
  const std::vector<C> v = got(a, 4);
  for (size_t j = 0; j < 2; ++j) {
    const C value(j == 0 ? 1 : 3);
    EXPECT_LT(std::abs(2.0 * v[2 * j] + C(0, 1) * v[2 * j + 1] - value * v[2 * j]), 1e-12) << j;
    EXPECT_LT(std::abs(C(0, -1) * v[2 * j] + 2.0 * v[2 * j + 1] - value * v[2 * j + 1]), 1e-12) << j;
  }
}

// Columns [3 4] and [1 2], three elements apart: r [-5 -2.2; 0 0.4] and v = [1 0.5], of which the factor is 1.6.
TEST_F(EmulatedCusolver, GeqrfKeepsReflectionsBelowTheDiagonal) {
  double *a = put<double>({3, 4, 77, 1, 2, 77}), *tau = put<double>({NAN, NAN});
  ASSERT_EQ(c_.cusolverDnXgeqrf(handle_, parameters_, 2, 2, CUDA_R_64F, a, 3, CUDA_R_64F, tau, CUDA_R_64F, buffer_,
                                4096, nullptr, 0, info_),
            CUSOLVER_STATUS_SUCCESS);
  expect_near(got(a, 6), {-5, 0.5, 77, -2.2, 0.4, 77});
  expect_near(got(tau, 2), {1.6, 0});
  int elements = 0;
  ASSERT_EQ(c_.cusolverDnDorgqr_bufferSize(handle_, 2, 2, 2, a, 3, tau, &elements), CUSOLVER_STATUS_SUCCESS);
  const auto orgqr = [&](int m, int n, int k, int size) {
    return c_.cusolverDnDorgqr(handle_, m, n, k, a, 3, tau, reinterpret_cast<double*>(buffer_), size, info_);
  };
  EXPECT_EQ(orgqr(2, 2, 3, elements), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(orgqr(1, 2, 2, elements), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(orgqr(2, 2, 2, elements - 1), CUSOLVER_STATUS_INVALID_VALUE);
  ASSERT_EQ(orgqr(2, 2, 2, elements), CUSOLVER_STATUS_SUCCESS);
  expect_near(got(a, 6), {-0.6, -0.8, 77, -0.8, 0.6, 77});
}

// The diagonal is real, so that the factor has an imaginary part.
TEST_F(EmulatedCusolver, GeqrfOfComplexNumbersHasARealDiagonal) {
  std::complex<float>*a = put<std::complex<float>>({{0, 1}}), *tau = put<std::complex<float>>({{0, 0}});
  ASSERT_EQ(c_.cusolverDnXgeqrf(handle_, parameters_, 1, 1, CUDA_C_32F, a, 1, CUDA_C_32F, tau, CUDA_C_32F, buffer_,
                                4096, nullptr, 0, info_),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(got(a, 1)[0], std::complex<float>(-1, 0));
  const auto theirs = [](auto* x) { return reinterpret_cast<float2*>(x); };
  ASSERT_EQ(c_.cusolverDnCungqr(handle_, 1, 1, 1, theirs(a), 1, theirs(tau), theirs(buffer_), 64, info_),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_LT(std::abs(got(a, 1)[0] - std::complex<float>(0, -1)), 1e-6) << "q r is i";
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
