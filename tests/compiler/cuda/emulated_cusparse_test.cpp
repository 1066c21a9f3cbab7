// The emulated cuSPARSE by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cusparse_test {
namespace {

using namespace cuda;  // NOLINT

class EmulatedCusparse : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    ASSERT_EQ(c_.cusparseCreate(&handle_), CUSPARSE_STATUS_SUCCESS);
    ASSERT_EQ(c_.cusparseSetStream(handle_, stream_->handle()), CUSPARSE_STATUS_SUCCESS);
    // [1 0 2; 0 0 0] of which the elements stand in any order.
    offsets_ = put<int>({0, 2, 2});
    indices_ = put<int>({2, 0});
    values_ = put<double>({2, 1});
    buffer_ = put<char>(std::vector<char>(1024));
    ASSERT_EQ(made(&sparse_, offsets_, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I), CUSPARSE_STATUS_SUCCESS);
  }
  void TearDown() override {
    c_.cusparseDestroySpMat(sparse_);
    c_.cusparseDestroy(handle_);
  }
  Status made(cusparseSpMatDescr** out, void* offsets, int of_offsets, int of_indices, int64_t rows = 2) {
    return c_.cusparseCreateCsr(out, rows, 3, 2, offsets, indices_, values_, of_offsets, of_indices,
                                CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
  }
  cusparseDnMatDescr* dense(int64_t rows, int64_t columns, int64_t ld, double* at) {
    cusparseDnMatDescr* out = nullptr;
    EXPECT_EQ(c_.cusparseCreateDnMat(&out, rows, columns, ld, at, CUDA_R_64F, CUSPARSE_ORDER_ROW),
              CUSPARSE_STATUS_SUCCESS);
    return out;
  }
  Status multiply(const cusparseDnMatDescr* x, cusparseDnMatDescr* y, double alpha, double beta,
                  int algorithm = CUSPARSE_SPMM_CSR_ALG3, int op = CUSPARSE_OPERATION_NON_TRANSPOSE) {
    return c_.cusparseSpMM(handle_, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, sparse_, x, &beta, y, CUDA_R_64F,
                           algorithm, buffer_);
  }

  const Cusparse& c_ = emulated::cusparse().functions;
  cusparseContext* handle_ = nullptr;
  cusparseSpMatDescr* sparse_ = nullptr;
  int *offsets_ = nullptr, *indices_ = nullptr;
  double* values_ = nullptr;
  char* buffer_ = nullptr;
};

TEST_F(EmulatedCusparse, MatricesAreStoredByRowsWithLeadingDimensions) {
  double *from = put<double>({1, 10, NAN, 2, 20, NAN, 3, 30, NAN}), *to = put<double>({1, 2, 7, 3, 4, 7});
  cusparseDnMatDescr *x = dense(3, 2, 3, from), *y = dense(2, 2, 3, to);
  size_t bytes = 0;
  const double two = 2, one = 1;
  ASSERT_EQ(c_.cusparseSpMM_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                       &two, sparse_, x, &one, y, CUDA_R_64F, CUSPARSE_SPMM_CSR_ALG3, &bytes),
            CUSPARSE_STATUS_SUCCESS);
  EXPECT_LE(bytes, 1024U);
  ASSERT_EQ(multiply(x, y, 2, 1), CUSPARSE_STATUS_SUCCESS);
  // Descriptors may go before the work is done.
  c_.cusparseDestroyDnMat(x);
  c_.cusparseDestroyDnMat(y);
  EXPECT_EQ(got(to, 6), (std::vector<double>{1 + 14, 2 + 140, 7, 3, 4, 7}));
}

TEST_F(EmulatedCusparse, AVectorHasOneColumn) {
  double *from = put<double>({1, 2, 3}), *to = put<double>({NAN, NAN});
  cusparseDnVecDescr *x = nullptr, *y = nullptr;
  ASSERT_EQ(c_.cusparseCreateDnVec(&x, 3, from, CUDA_R_64F), CUSPARSE_STATUS_SUCCESS);
  ASSERT_EQ(c_.cusparseCreateDnVec(&y, 2, to, CUDA_R_64F), CUSPARSE_STATUS_SUCCESS);
  const double one = 1, zero = 0;  // of which the NaN is not read
  const auto multiplied = [&](int algorithm) {
    return c_.cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, sparse_, x, &zero, y, CUDA_R_64F, algorithm,
                           buffer_);
  };
  EXPECT_EQ(multiplied(0), CUSPARSE_STATUS_NOT_SUPPORTED);
  ASSERT_EQ(multiplied(CUSPARSE_SPMV_CSR_ALG2), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(got(to, 2), (std::vector<double>{7, 0}));
  c_.cusparseDestroyDnVec(x);
  c_.cusparseDestroyDnVec(y);
}

TEST_F(EmulatedCusparse, MisuseIsRefused) {
  double *from = put<double>({1, 2, 3}), *to = put<double>({5, 6});
  cusparseDnMatDescr *x = dense(3, 1, 1, from), *y = dense(2, 1, 1, to), *wide = dense(1, 3, 3, from);
  EXPECT_EQ(multiply(x, y, 1, 0, 0), CUSPARSE_STATUS_NOT_SUPPORTED) << "an algorithm whose bits differ";
  EXPECT_EQ(multiply(x, y, 1, 0, CUSPARSE_SPMM_CSR_ALG3, 1), CUSPARSE_STATUS_NOT_SUPPORTED) << "transposed";
  EXPECT_EQ(multiply(wide, y, 1, 0), CUSPARSE_STATUS_INVALID_VALUE) << "lengths";
  EXPECT_EQ(multiply(nullptr, y, 1, 0), CUSPARSE_STATUS_INVALID_VALUE);
  cusparseDnMatDescr* none = nullptr;
  EXPECT_EQ(c_.cusparseCreateDnMat(&none, 3, 2, 1, from, CUDA_R_64F, CUSPARSE_ORDER_ROW),
            CUSPARSE_STATUS_INVALID_VALUE);
  cusparseSpMatDescr* wrong = nullptr;
  EXPECT_EQ(made(&wrong, offsets_, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(made(&wrong, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(made(&wrong, offsets_, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, -1), CUSPARSE_STATUS_INVALID_VALUE);
  const double one = 1, zero = 0;
  EXPECT_EQ(c_.cusparseSpMM(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, sparse_,
                            x, &zero, y, CUDA_R_64F, CUSPARSE_SPMM_CSR_ALG3, nullptr),
            CUSPARSE_STATUS_INVALID_VALUE)
      << "no buffer";
  EXPECT_EQ(got(to, 2), (std::vector<double>{5, 6}));
  EXPECT_EQ(c_.cusparseSetStream(nullptr, stream_->handle()), CUSPARSE_STATUS_NOT_INITIALIZED);
  for (const cusparseDnMatDescr* matrix : {x, y, wide}) c_.cusparseDestroyDnMat(matrix);
}

// A wrong index would be read elsewhere: the context is spoiled, as on a device at worst.
TEST_F(EmulatedCusparse, AWrongIndexSpoilsTheContext) {
  double *from = put<double>({1, 2, 3}), *to = put<double>({5, 6});
  cusparseDnMatDescr *x = dense(3, 1, 1, from), *y = dense(2, 1, 1, to);
  const int far[] = {2, 3};
  stream_->copy_in(address_of(indices_), far, sizeof far);
  ASSERT_EQ(multiply(x, y, 1, 0), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(device_->driver().cuStreamSynchronize(stream_->handle()), CUDA_ERROR_ILLEGAL_ADDRESS);
  for (const cusparseDnMatDescr* matrix : {x, y}) c_.cusparseDestroyDnMat(matrix);
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cusparse_test
