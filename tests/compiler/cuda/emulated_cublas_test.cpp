// The emulated cuBLAS by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <optional>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cublas_test {
namespace {

using namespace cuda;  // NOLINT

class EmulatedCublas : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    workspace_.emplace(*device_, 4096);
    ASSERT_EQ(c_.cublasCreate_v2(&handle_), CUBLAS_STATUS_SUCCESS);
    set_stream_and_workspace();
  }
  void TearDown() override { c_.cublasDestroy_v2(handle_); }
  void set_stream_and_workspace() {
    ASSERT_EQ(c_.cublasSetStream_v2(handle_, stream_->handle()), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(c_.cublasSetWorkspace_v2(handle_, reinterpret_cast<void*>(workspace_->address()), 4096),
              CUBLAS_STATUS_SUCCESS);
  }

  const Cublas& c_ = emulated::cublas().functions;
  std::optional<DeviceBuffer> workspace_;
  cublasContext* handle_ = nullptr;
};

// By columns: A = [1 3 5; 2 4 6] with a column of 3 elements, B = [1 0; 0 1; 1 1].
TEST_F(EmulatedCublas, MatricesAreStoredByColumnsWithLeadingDimensions) {
  const float* a = put<float>({1, 2, NAN, 3, 4, NAN, 5, 6, NAN});
  const float* b = put<float>({1, 0, 1, 0, 1, 1});
  float* c = put<float>({10, 20, 7, 30, 40, 7});
  const float alpha = 2, beta = 1;
  ASSERT_EQ(c_.cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, a, 3, b, 3, &beta, c, 3), 0);
  EXPECT_EQ(got(c, 6), (std::vector<float>{10 + 12, 20 + 16, 7, 30 + 16, 40 + 20, 7}));
}

TEST_F(EmulatedCublas, TransposesAreThoseOfTheStoredMatrix) {
  const double* a = put<double>({1, 2, 3, 4, 5, 6});  // A^T of [1 2 3; 4 5 6] as [1 4; 2 5; 3 6]: op(A) is 2 x 3
  const double* b = put<double>({1, 2, 3, 4, 5, 6});  // 2 x 3, op(B) 3 x 2
  double* c = put<double>(std::vector<double>(4, NAN));
  const double alpha = 1, beta = 0;  // of which the NaN is not read
  ASSERT_EQ(c_.cublasDgemm_v2(handle_, CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, &alpha, a, 3, b, 2, &beta, c, 2), 0);
  EXPECT_EQ(got(c, 4), (std::vector<double>{1 * 1 + 2 * 3 + 3 * 5, 4 * 1 + 5 * 3 + 6 * 5, 1 * 2 + 2 * 4 + 3 * 6,
                                            4 * 2 + 5 * 4 + 6 * 6}));
}

TEST_F(EmulatedCublas, ComplexMatricesMayBeConjugated) {
  using C = std::complex<float>;
  const C* a = put<C>({{1, 2}});
  const C* b = put<C>({{3, -1}});
  C* c = put<C>({{NAN, NAN}});
  const C alpha(0, 1), beta(0, 0);
  const auto theirs = [](auto* number) { return reinterpret_cast<const float2*>(number); };
  ASSERT_EQ(c_.cublasCgemm_v2(handle_, CUBLAS_OP_C, CUBLAS_OP_N, 1, 1, 1, theirs(&alpha), theirs(a), 1, theirs(b), 1,
                              theirs(&beta), reinterpret_cast<float2*>(c), 1),
            0);
  EXPECT_EQ(got(c, 1)[0], C(0, 1) * (C(1, -2) * C(3, -1)));
}

TEST_F(EmulatedCublas, ABatchHasStrides) {
  const float* a = put<float>({1, 2, 3});  // three matrices of one number
  const float* b = put<float>({5, 0, 6, 0, 7});
  float* c = put<float>({0, 9, 0, 9, 0});
  const float alpha = 1, beta = 0;
  ASSERT_EQ(c_.cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, 1, b, 1, 2, &beta, c,
                                         1, 2, 3),
            0);
  EXPECT_EQ(got(c, 5), (std::vector<float>{5, 9, 12, 9, 21}));
}

TEST_F(EmulatedCublas, GemvTakesTheStoredShapeAndIncrements) {
  const double* a = put<double>({1, 2, 3, 4, 5, 6});  // 2 x 3: [1 3 5; 2 4 6]
  const double* x = put<double>({1, NAN, 1, NAN, 2});
  double* y = put<double>({100, 7, 200, 7, 300});
  const double alpha = 1, beta = 1;
  ASSERT_EQ(c_.cublasDgemv_v2(handle_, CUBLAS_OP_N, 2, 3, &alpha, a, 2, x, 2, &beta, y, 2), 0);
  EXPECT_EQ(got(y, 3), (std::vector<double>{100 + 14, 7, 200 + 18}));
  ASSERT_EQ(c_.cublasDgemv_v2(handle_, CUBLAS_OP_T, 2, 3, &alpha, a, 2, x, 2, &beta, y, 1), 0);
  EXPECT_EQ(got(y, 3), (std::vector<double>{114 + 3, 7 + 7, 218 + 11}));
}

// X A = B with A = [2 3; 0 4] by columns three apart, what is below its diagonal not read, and B = [2 11].
TEST_F(EmulatedCublas, TrsmSolvesInThePlaceOfTheRightHandSide) {
  const double* a = put<double>({2, NAN, NAN, 3, 4, NAN});
  double* b = put<double>({2, 7, 11});
  const double one = 1;
  const auto trsm = [&](int side, int triangle, int trans, int diagonal, int lda, int ldb) {
    return c_.cublasDtrsm_v2(handle_, side, triangle, trans, diagonal, 1, 2, &one, a, lda, b, ldb);
  };
  EXPECT_EQ(trsm(CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 3, 2),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(trsm(CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 1, 2),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(trsm(CUBLAS_SIDE_RIGHT, 5, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 3, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(trsm(CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 3, 200),
            CUBLAS_STATUS_EXECUTION_FAILED);
  ASSERT_EQ(trsm(CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 3, 2), 0);
  EXPECT_EQ(got(b, 3), (std::vector<double>{1, 7, 2}));
  // X A^T = B with a diagonal of ones: [x1 + 3 x2, x2] = [1, 2].
  ASSERT_EQ(trsm(CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, 3, 2), 0);
  EXPECT_EQ(got(b, 3), (std::vector<double>{-5, 7, 2}));
}

// What a factor of 0 multiplies is not looked at, whatever it is.
TEST_F(EmulatedCublas, AFactorOfZeroReadsNothing) {
  const float* a = put<float>({NAN});
  float* c = put<float>({3});
  const float zero = 0, two = 2;
  ASSERT_EQ(c_.cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &zero, a, 1, a, 1, &two, c, 1), 0);
  EXPECT_EQ(got(c, 1)[0], 6);
}

// The product of 1 + 2^-12 and 1 is 1 in TF32.
TEST_F(EmulatedCublas, Tf32IsASwitch) {
  const float* a = put<float>({1 + 0x1p-12F});
  const float* b = put<float>({1});
  float* c = put<float>({0});
  const float one = 1, zero = 0;
  for (const bool tf32 : {true, false}) {
    ASSERT_EQ(c_.cublasSetMathMode(handle_, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH), 0);
    ASSERT_EQ(c_.cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1), 0);
    EXPECT_EQ(got(c, 1)[0], tf32 ? 1 : 1 + 0x1p-12F);
  }
}

TEST_F(EmulatedCublas, WorkIsDoneInTheOrderOfTheStream) {
  const float* a = put<float>({2});
  float* c = put<float>({0});
  const float one = 1, zero = 0, four = 4;
  float read = -1;
  ASSERT_EQ(c_.cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &zero, c, 1), 0);
  stream_->copy_out(&read, address_of(c), 4);
  EXPECT_EQ(read, -1) << "before anybody waited";
  stream_->copy_in(address_of(c), &four, 4);
  stream_->wait();
  EXPECT_EQ(read, 4);
  EXPECT_EQ(got(c, 1)[0], 4);
}

TEST_F(EmulatedCublas, MisuseHasItsStatus) {
  const float one = 1;
  float* m = put<float>(std::vector<float>(16));
  const auto gemm = [&](int trans, int rows, int inner, int lda, const float* alpha, float* c) {
    return c_.cublasSgemm_v2(handle_, trans, CUBLAS_OP_N, rows, 2, inner, alpha, m, lda, m, 4, &one, c, 4);
  };
  EXPECT_EQ(gemm(CUBLAS_OP_N, 2, 2, 2, &one, m), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(gemm(CUBLAS_OP_N, 2, 2, 1, &one, m), CUBLAS_STATUS_INVALID_VALUE) << "a leading dimension below the rows";
  EXPECT_EQ(gemm(CUBLAS_OP_T, 2, 3, 2, &one, m), CUBLAS_STATUS_INVALID_VALUE) << "of the stored matrix";
  EXPECT_EQ(gemm(7, 2, 2, 2, &one, m), CUBLAS_STATUS_INVALID_VALUE) << "no operation";
  EXPECT_EQ(gemm(CUBLAS_OP_N, -1, 2, 2, &one, m), CUBLAS_STATUS_INVALID_VALUE) << "a negative length";
  EXPECT_EQ(gemm(CUBLAS_OP_N, 2, 2, 2, nullptr, m), CUBLAS_STATUS_INVALID_VALUE) << "no factor";
  EXPECT_EQ(gemm(CUBLAS_OP_N, 0, 2, 1, &one, nullptr), CUBLAS_STATUS_SUCCESS) << "nothing to do";
  EXPECT_EQ(gemm(CUBLAS_OP_N, 4, 2, 4, &one, m + 12), CUBLAS_STATUS_EXECUTION_FAILED) << "beyond the allocation";
  EXPECT_EQ(c_.cublasSetMathMode(handle_, 99), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(c_.cublasSetWorkspace_v2(handle_, m + 1, 8), CUBLAS_STATUS_INVALID_VALUE) << "not aligned";
  cublasContext* const none = reinterpret_cast<cublasContext*>(m);
  EXPECT_EQ(c_.cublasSetStream_v2(none, stream_->handle()), CUBLAS_STATUS_NOT_INITIALIZED);
  // cublasSetStream forgets the workspace.
  ASSERT_EQ(c_.cublasSetStream_v2(handle_, stream_->handle()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(gemm(CUBLAS_OP_N, 2, 2, 2, &one, m), CUBLAS_STATUS_ALLOC_FAILED);
  set_stream_and_workspace();
  EXPECT_EQ(gemm(CUBLAS_OP_N, 2, 2, 2, &one, m), CUBLAS_STATUS_SUCCESS);
  stream_->wait();
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cublas_test
