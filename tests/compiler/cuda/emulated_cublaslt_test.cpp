// The emulated cuBLASLt by its documented conventions, and what it refuses; the handle that calls it.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "compiler/cuda/cublaslt_handle.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cublaslt_test {
namespace {

using namespace cuda;  // NOLINT

class EmulatedCublasLt : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    workspace_.emplace(*device_, 4096);
    ASSERT_EQ(c_.cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(c_.cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
    ASSERT_EQ(c_.cublasLtMatmulPreferenceCreate(&preference_), 0);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{4096});
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const int attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(attribute, uint32_t{4});
  }
  void TearDown() override {
    for (void* layout : layouts_) EXPECT_EQ(c_.cublasLtMatrixLayoutDestroy(layout), 0);
    EXPECT_EQ(c_.cublasLtMatmulPreferenceDestroy(preference_), 0);
    EXPECT_EQ(c_.cublasLtMatmulDescDestroy(product_), 0);
    EXPECT_EQ(c_.cublasLtDestroy(handle_), 0);
  }
  template <class T>
  Status set(int attribute, T value) {
    return c_.cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value);
  }
  template <class T>
  void prefer(int attribute, T value) {
    ASSERT_EQ(c_.cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value), 0);
  }
  void* layout(uint64_t rows, uint64_t columns, int64_t ld) {
    void* out = nullptr;
    EXPECT_EQ(c_.cublasLtMatrixLayoutCreate(&out, CUDA_R_32F, rows, columns, ld), 0);
    layouts_.push_back(out);
    return out;
  }
  Status find(void* a, void* b, void* d, CublasLtAlgorithmFound& out) {
    int count = 0;
    return c_.cublasLtMatmulAlgoGetHeuristic(handle_, product_, a, b, d, d, preference_, 1, &out, &count);
  }
  Status multiply(const CublasLtAlgorithmFound& by, const float* a, void* of_a, const float* b, void* of_b, float* d,
                  void* of_d, size_t bytes = 4096) {
    const float one = 1, zero = 0;
    return c_.cublasLtMatmul(handle_, product_, &one, a, of_a, b, of_b, &zero, d, of_d, d, of_d, by.algorithm,
                             reinterpret_cast<void*>(workspace_->address()), bytes, stream_->handle());
  }

  const CublasLt& c_ = emulated::cublaslt().functions;
  std::optional<DeviceBuffer> workspace_;
  cublasLtContext* handle_ = nullptr;
  void *product_ = nullptr, *preference_ = nullptr;
  std::vector<void*> layouts_;
};

// By columns, three elements apart: A = [1 3; 2 4], B = [1 -9; 1 0], and a bias of each row. A NaN becomes 0.
TEST_F(EmulatedCublasLt, AnEpilogueFollowsTheProduct) {
  const float* a = put<float>({1, 2, NAN, 3, 4, NAN});
  const float* b = put<float>({1, 1, -9, 0});
  const float* bias = put<float>({10, 30});
  float* d = put<float>(std::vector<float>(5, 7));
  void *of_a = layout(2, 2, 3), *of_b = layout(2, 2, 2), *of_d = layout(2, 2, 3);
  CublasLtAlgorithmFound found = {};
  const auto result = [&](uint32_t epilogue) {
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue), 0);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias), 0);
    EXPECT_EQ(find(of_a, of_b, of_d, found), 0);
    EXPECT_EQ(found.status, CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(multiply(found, a, of_a, b, of_b, d, of_d), 0);
    return got(d, 5);
  };
  EXPECT_EQ(result(CUBLASLT_EPILOGUE_DEFAULT), (std::vector<float>{4, 6, 7, -9, -18}));
  EXPECT_EQ(result(CUBLASLT_EPILOGUE_BIAS), (std::vector<float>{14, 36, 7, 1, 12}));
  EXPECT_EQ(result(CUBLASLT_EPILOGUE_RELU), (std::vector<float>{4, 6, 7, 0, 0}));
  bias = put<float>({5, NAN});
  EXPECT_EQ(result(CUBLASLT_EPILOGUE_RELU_BIAS), (std::vector<float>{9, 0, 7, 0, 0}));
}

TEST_F(EmulatedCublasLt, MisuseHasItsStatus) {
  const float* a = put<float>({1, 2, 3, 4, 5, 6});
  float* d = put<float>(std::vector<float>(9));
  void *of_a = layout(2, 3, 2), *of_b = layout(3, 2, 3), *of_d = layout(2, 2, 2), *wrong = layout(3, 3, 3);
  CublasLtAlgorithmFound found = {};
  EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint64_t{4}), CUBLAS_STATUS_INVALID_VALUE) << "its size";
  EXPECT_EQ(set(12345, uint32_t{4}), CUBLAS_STATUS_INVALID_VALUE);
  void* none = nullptr;
  EXPECT_EQ(c_.cublasLtMatrixLayoutCreate(&none, CUDA_R_32F, 3, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(c_.cublasLtMatmulDescCreate(&none, CUBLAS_COMPUTE_64F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(find(of_a, of_b, wrong, found), CUBLAS_STATUS_INVALID_VALUE) << "lengths";
  EXPECT_EQ(find(of_a, preference_, of_d, found), CUBLAS_STATUS_INVALID_VALUE) << "another descriptor";
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK});
  EXPECT_EQ(find(of_a, of_b, of_d, found), CUBLAS_STATUS_INVALID_VALUE) << "sums in any order";
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE});
  ASSERT_EQ(find(of_a, of_b, of_d, found), 0);
  EXPECT_EQ(multiply(found, a, of_a, a, of_b, d, of_d, 8), CUBLAS_STATUS_INVALID_VALUE) << "a small workspace";
  EXPECT_EQ(multiply(found, a + 2, of_a, a, of_b, d, of_d), CUBLAS_STATUS_EXECUTION_FAILED) << "beyond the array";
  EXPECT_EQ(multiply(found, a, of_a, a, of_b, d, of_d), 0);
  EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU}), 0);
  EXPECT_EQ(multiply(found, a, of_a, a, of_b, d, of_d), CUBLAS_STATUS_INVALID_VALUE) << "an algorithm of another";
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{16});
  ASSERT_EQ(find(of_a, of_b, of_d, found), 0);
  EXPECT_EQ(multiply(found, a + 1, of_a, a, of_b, d, of_d), CUBLAS_STATUS_INVALID_VALUE) << "alignment";
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{1});
  EXPECT_EQ(find(of_a, of_b, of_d, found), CUBLAS_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cublaslt_test
