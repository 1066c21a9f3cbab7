// The emulated cuDNN by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/cuda/cudnn_handle.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cudnn_test {
namespace {

using namespace cuda;  // NOLINT

// Images [1, 1, 3, 3], filters [1, 1, 2, 2], results [1, 1, 2, 2].
class EmulatedCudnn : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    ASSERT_EQ(f_.cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(f_.cudnnSetStream(handle_, stream_->handle()), CUDNN_STATUS_SUCCESS);
    x_ = tensor({1, 1, 3, 3});
    y_ = tensor({1, 1, 2, 2});
    w_ = filter({1, 1, 2, 2});
    convolution_ = convolution({0, 0}, CUDNN_CROSS_CORRELATION);
    area_.emplace(*device_, 8192);
  }
  Status set(cudnnTensorStruct* t, const std::vector<int>& lengths, int dtype = CUDNN_DATA_FLOAT, int first = 0) {
    std::vector<int> strides(lengths.size(), 1);
    for (size_t i = lengths.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * lengths[i + 1];
    if (first > 0) strides[0] = first;
    return f_.cudnnSetTensorNdDescriptor(t, dtype, static_cast<int>(lengths.size()), lengths.data(), strides.data());
  }
  cudnnTensorStruct* tensor(const std::vector<int>& lengths, int dtype = CUDNN_DATA_FLOAT) {
    cudnnTensorStruct* out = nullptr;
    EXPECT_EQ(f_.cudnnCreateTensorDescriptor(&out), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(set(out, lengths, dtype), CUDNN_STATUS_SUCCESS);
    return out;
  }
  cudnnFilterStruct* filter(const std::vector<int>& lengths, int dtype = CUDNN_DATA_FLOAT) {
    cudnnFilterStruct* out = nullptr;
    EXPECT_EQ(f_.cudnnCreateFilterDescriptor(&out), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(
        f_.cudnnSetFilterNdDescriptor(out, dtype, CUDNN_TENSOR_NCHW, static_cast<int>(lengths.size()), lengths.data()),
        CUDNN_STATUS_SUCCESS);
    return out;
  }
  cudnnConvolutionStruct* convolution(const std::vector<int>& padding, int mode, std::vector<int> dilation = {1, 1},
                                      int dtype = CUDNN_DATA_FLOAT) {
    cudnnConvolutionStruct* out = nullptr;
    const std::vector<int> ones{1, 1};
    EXPECT_EQ(f_.cudnnCreateConvolutionDescriptor(&out), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(f_.cudnnSetConvolutionNdDescriptor(out, 2, padding.data(), ones.data(), dilation.data(), mode, dtype),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(f_.cudnnSetConvolutionMathType(out, CUDNN_FMA_MATH), CUDNN_STATUS_SUCCESS);
    return out;
  }
  void* area() { return reinterpret_cast<void*>(area_->address()); }
  Status forward(const float* x, const float* w, float* y, int algorithm = 0, size_t bytes = 0, float alpha = 1,
                 float beta = 0) {
    return f_.cudnnConvolutionForward(handle_, &alpha, x_, x, w_, w, convolution_, algorithm, area(), bytes, &beta, y_,
                                      y);
  }

  const Cudnn& f_ = emulated::cudnn().functions;
  cudnnContext* handle_ = nullptr;
  cudnnTensorStruct *x_ = nullptr, *y_ = nullptr;
  cudnnFilterStruct* w_ = nullptr;
  cudnnConvolutionStruct* convolution_ = nullptr;
  std::optional<DeviceBuffer> area_;
};

using Floats = std::vector<float>;

const Floats kX{1, 2, 3, 4, 5, 6, 7, 8, 9}, kW{1, 10, 100, 1000};

TEST_F(EmulatedCudnn, ModesAreCorrelationAndConvolution) {
  float *x = put(kX), *w = put(kW), *y = put(Floats(4, NAN));
  ASSERT_EQ(forward(x, w, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 4), (Floats{5421, 6532, 8754, 9865}));
  convolution_ = convolution({0, 0}, CUDNN_CONVOLUTION);
  ASSERT_EQ(forward(x, w, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 4), (Floats{1245, 2356, 4578, 5689}));
}

TEST_F(EmulatedCudnn, FactorsAreOnTheHostAndResultsMayBeAdded) {
  float *x = put(kX), *w = put(kW), *y = put(Floats{1, 2, 3, 4});
  ASSERT_EQ(forward(x, w, y, 0, 0, 2, 0.5F), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 4), (Floats{10842.5F, 13065, 17509.5F, 19732}));
}

TEST_F(EmulatedCudnn, GradientsAreThoseOfBothModes) {
  float *x = put(kX), *w = put(kW), *dy = put(Floats{1, 0, 0, 2}), *dx = put(Floats(9)), *dw = put(Floats(4));
  const float one = 1, zero = 0;
  for (const bool is_turned : {false, true}) {
    if (is_turned) convolution_ = convolution({0, 0}, CUDNN_CONVOLUTION);
    ASSERT_EQ(
        f_.cudnnConvolutionBackwardData(handle_, &one, w_, w, y_, dy, convolution_, 1, area(), 8192, &zero, x_, dx),
        CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(got(dx, 9), is_turned ? (Floats{1000, 100, 0, 10, 2001, 200, 0, 20, 2})
                                    : (Floats{1, 10, 0, 100, 1002, 20, 0, 200, 2000}));
    ASSERT_EQ(
        f_.cudnnConvolutionBackwardFilter(handle_, &one, x_, x, y_, dy, convolution_, 1, area(), 8192, &zero, w_, dw),
        CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(got(dw, 4), is_turned ? (Floats{23, 20, 14, 11}) : (Floats{11, 14, 20, 23}));
  }
}

TEST_F(EmulatedCudnn, AlgorithmsAreListedThoseThatComputeFirst) {
  std::vector<CudnnAlgorithmFound> all(16);
  int count = 0;
  const auto list = [&](int asked) {
    return f_.cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, convolution_, y_, asked, &count,
                                                     reinterpret_cast<cudnnConvolutionFwdAlgoPerfStruct*>(all.data()));
  };
  ASSERT_EQ(list(16), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(count, 7);
  EXPECT_EQ(all[0].algorithm, 4) << "by transforms of Fourier";
  EXPECT_EQ(all[0].determinism, CUDNN_DETERMINISTIC);
  EXPECT_EQ(all[6].status, CUDNN_STATUS_NOT_SUPPORTED) << "Winograd's of 3x3 taps";
  ASSERT_EQ(list(2), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(list(0), CUDNN_STATUS_BAD_PARAM);
  size_t bytes = 0;
  EXPECT_EQ(f_.cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, convolution_, y_, 6, &bytes),
            CUDNN_STATUS_NOT_SUPPORTED);
  ASSERT_EQ(f_.cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, convolution_, y_, 4, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, all[0].workspace_bytes);
}

// What is picked is deterministic, adds products as they are, and has a workspace of its own.
TEST_F(EmulatedCudnn, TheHandlePicks) {
  CudnnHandle handle(*device_, emulated::math_libraries());
  size_t asked = 0;
  const LibraryStream at{stream_->handle(),
                         [&](size_t bytes) {
                           asked = bytes;
                           return area_->address();
                         },
                         nullptr};
  const CudnnConvolution c{
      .x = {1, 1, 3, 3}, .w = {1, 1, 2, 2}, .y = {1, 1, 2, 2}, .stride = {1, 1}, .dilation = {1, 1}};
  float *x = put(kX), *w = put(kW), *y = put(Floats(4, NAN));
  handle.convolve(at, c, kFirstPick, x, w, y);
  EXPECT_EQ(got(y, 4), (Floats{5421, 6532, 8754, 9865}));
  EXPECT_EQ(asked, 0U) << "implicit_gemm has none";
  handle.convolve(at, c, 1, x, w, y);
  EXPECT_EQ(asked, 512U + 16U);
  EXPECT_TRUE(std::isnan(got(reinterpret_cast<float*>(area()), 1)[0])) << "what is left in a workspace is nothing";
}

TEST_F(EmulatedCudnn, MisuseHasItsStatus) {
  float *x = put(kX), *w = put(kW), *y = put(Floats(4));
  EXPECT_EQ(forward(x, w, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward(x, w, y, 1, 511), CUDNN_STATUS_BAD_PARAM) << "the workspace is too small";
  EXPECT_EQ(forward(x, w, y, 1, 8192), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(forward(x, w, y, 3), CUDNN_STATUS_NOT_SUPPORTED) << "no such algorithm is implemented";
  EXPECT_EQ(forward(x, w, y, 99), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(forward(x + 1, w, y), CUDNN_STATUS_EXECUTION_FAILED) << "beyond the end";
  const auto expect_bad = [&](const char* why) { EXPECT_EQ(forward(x, w, y), CUDNN_STATUS_BAD_PARAM) << why; };
  const auto with = [&](auto& member, auto* other, const char* why) {
    auto* const before = member;
    member = other;
    expect_bad(why);
    member = before;
  };
  with(y_, tensor({1, 1, 2, 3}), "results of another length");
  with(y_, tensor({1, 2, 2, 2}), "more results than filters");
  with(x_, tensor({1, 1, 3, 3}, CUDNN_DATA_DOUBLE), "another dtype");
  with(w_, filter({1, 2, 2, 2}), "more channels than the image");
  with(w_, filter({1, 1, 4, 4}), "taps outside of the image");
  with(convolution_, convolution({1, 1}, CUDNN_CROSS_CORRELATION), "another padding");
  cudnnTensorStruct* unset = nullptr;
  f_.cudnnCreateTensorDescriptor(&unset);
  with(x_, unset, "nothing was set");
  EXPECT_EQ(f_.cudnnSetConvolutionGroupCount(convolution_, 0), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(x_, {1, 1, 0, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(x_, {1, 3, 3}), CUDNN_STATUS_BAD_PARAM) << "three axes";
  EXPECT_EQ(set(x_, {2, 1, 3, 3}, CUDNN_DATA_FLOAT, 18), CUDNN_STATUS_BAD_PARAM) << "gaps";
  EXPECT_EQ(f_.cudnnDestroyTensorDescriptor(x_), CUDNN_STATUS_SUCCESS);
  expect_bad("destroyed");
  EXPECT_EQ(f_.cudnnDestroyTensorDescriptor(x_), CUDNN_STATUS_BAD_PARAM);
  x_ = tensor({1, 1, 3, 3});
  cudnnContext* other = nullptr;
  f_.cudnnCreate(&other);
  std::swap(handle_, other);
  expect_bad("no stream was set");
  EXPECT_EQ(f_.cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(forward(x, w, y), CUDNN_STATUS_NOT_INITIALIZED);
  handle_ = nullptr;
  expect_bad("no handle");
}

// ---- pooling and softmax

// Images [1, 1, 3, 4], windows of 2 x 2 side by side with a padding of 1: results [1, 1, 2, 3].
class EmulatedCudnnPooling : public EmulatedCudnn {
 protected:
  void SetUp() override {
    EmulatedCudnn::SetUp();
    x_ = tensor({1, 1, 3, 4});
    y_ = tensor({1, 1, 2, 3});
    ASSERT_EQ(f_.cudnnCreatePoolingDescriptor(&pooling_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(set_windows(CUDNN_POOLING_MAX_DETERMINISTIC), CUDNN_STATUS_SUCCESS);
  }
  Status set_windows(int mode, const std::vector<int>& windows = {2, 2}, const std::vector<int>& padding = {1, 1},
                     const std::vector<int>& strides = {2, 2}, int of_nan = CUDNN_PROPAGATE_NAN) {
    return f_.cudnnSetPoolingNdDescriptor(pooling_, mode, of_nan, static_cast<int>(windows.size()), windows.data(),
                                          padding.data(), strides.data());
  }
  Status pool(const float* x, float* y, float alpha = 1, float beta = 0) {
    return f_.cudnnPoolingForward(handle_, pooling_, &alpha, x_, x, &beta, y_, y);
  }
  Status pool_back(const float* y, const float* dy, const float* x, float* dx) {
    const float one = 1, zero = 0;
    return f_.cudnnPoolingBackward(handle_, pooling_, &one, y_, y, y_, dy, x_, x, &zero, x_, dx);
  }

  cudnnPoolingStruct* pooling_ = nullptr;
};

const Floats kImage{1, 2, 3, 4, 8, 7, 6, 5, 12, -16, 20, 8};

TEST_F(EmulatedCudnnPooling, ModesAreMaximaAndBothAverages) {
  float *x = put(kImage), *y = put(Floats(6, NAN));
  ASSERT_EQ(pool(x, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 6), (Floats{1, 3, 4, 12, 20, 8}));
  ASSERT_EQ(set_windows(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(pool(x, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 6), (Floats{1, 2.5F, 4, 10, 4.25F, 6.5F}));
  ASSERT_EQ(set_windows(CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(pool(x, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 6), (Floats{0.25F, 1.25F, 1, 5, 4.25F, 3.25F}));
  ASSERT_EQ(pool(x, y, 2, 0.5F), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 6), (Floats{0.625F, 3.125F, 2.5F, 12.5F, 10.625F, 8.125F}));
}

TEST_F(EmulatedCudnnPooling, GradientsAreThoseOfAllModes) {
  float *x = put(kImage), *y = put(Floats(6)), *dy = put(Floats{1, 2, 3, 4, 5, 6}), *dx = put(Floats(12, NAN));
  ASSERT_EQ(pool(x, y), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(pool_back(y, dy, x, dx), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(dx, 12), (Floats{1, 0, 2, 3, 0, 0, 0, 0, 4, 0, 5, 6}));
  ASSERT_EQ(pool_back(dy, dy, x, dx), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(got(dx, 1)[0])) << "of a y that is not of x nothing is said";
  ASSERT_EQ(set_windows(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(pool_back(dy, dy, dx, dx), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(dx, 12), (Floats{1, 1, 1, 3, 2, 1.25F, 1.25F, 3, 2, 1.25F, 1.25F, 3}));
  ASSERT_EQ(set_windows(CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(pool_back(dy, dy, dx, dx), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(dx, 12), (Floats{0.25F, 0.5F, 0.5F, 0.75F, 1, 1.25F, 1.25F, 1.5F, 1, 1.25F, 1.25F, 1.5F}));
}

TEST_F(EmulatedCudnnPooling, MisuseHasItsStatus) {
  float *x = put(kImage), *y = put(Floats(6)), *dx = put(Floats(12));
  for (const Status status :
       {set_windows(0), set_windows(4), set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {2, 2}, {1, 1}, {2, 2}, 0),
        set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {0, 2}), set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {2, 1}),
        set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {2, 2}, {-1, 1}),
        set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {2, 2}, {1, 1}, {2, 0}),
        set_windows(CUDNN_POOLING_MAX_DETERMINISTIC, {2, 2, 2, 2}, {1, 1, 1, 1}, {2, 2, 2, 2}), pool(nullptr, y),
        pool(x, nullptr), pool_back(y, y, nullptr, dx), pool_back(nullptr, y, x, dx)})
    EXPECT_EQ(status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(pool(x + 1, y), CUDNN_STATUS_EXECUTION_FAILED) << "beyond the end";
  EXPECT_EQ(pool_back(y, y, x, x + 1), CUDNN_STATUS_EXECUTION_FAILED);
  const auto with = [&](auto& member, auto* other, const char* why) {
    auto* const before = member;
    member = other;
    EXPECT_EQ(pool(x, y), CUDNN_STATUS_BAD_PARAM) << why;
    EXPECT_EQ(pool_back(y, y, x, dx), CUDNN_STATUS_BAD_PARAM) << why;
    member = before;
  };
  with(y_, tensor({1, 1, 2, 2}), "results of another length");
  with(y_, tensor({1, 2, 2, 3}), "other channels");
  with(y_, tensor({1, 1, 1, 2, 3}), "three axes");
  with(x_, tensor({1, 1, 3, 4}, CUDNN_DATA_DOUBLE), "another dtype");
  cudnnPoolingStruct* unset = nullptr;
  f_.cudnnCreatePoolingDescriptor(&unset);
  with(pooling_, unset, "nothing was set");
  cudnnContext* other = nullptr;
  f_.cudnnCreate(&other);
  with(handle_, other, "no stream was set");
}

TEST_F(EmulatedCudnn, SoftmaxIsAlongTheSecondAxis) {
  x_ = y_ = tensor({1, 2, 3, 1});
  float *x = put(Floats{0, 1, -1, 0, 3, -1}), *y = put(Floats(6, NAN));
  const auto of = [&](int algorithm, const float* from, float* to, int mode = CUDNN_SOFTMAX_MODE_CHANNEL,
                      float alpha = 1, float beta = 0) {
    return f_.cudnnSoftmaxForward(handle_, algorithm, mode, &alpha, x_, from, &beta, y_, to);
  };
  ASSERT_EQ(of(CUDNN_SOFTMAX_ACCURATE, x, y), CUDNN_STATUS_SUCCESS);
  const float low = 1 / (1 + std::exp(2.0F));
  EXPECT_FLOAT_EQ(got(y, 6)[1], low);
  EXPECT_FLOAT_EQ(got(y, 6)[4], 1 - low);
  EXPECT_FLOAT_EQ(got(y, 6)[5], 0.5F);
  ASSERT_EQ(of(CUDNN_SOFTMAX_LOG, x, y, CUDNN_SOFTMAX_MODE_CHANNEL, 2, 1), CUDNN_STATUS_SUCCESS);
  EXPECT_FLOAT_EQ(got(y, 6)[1], 2 * std::log(low) + low);
  ASSERT_EQ(of(CUDNN_SOFTMAX_ACCURATE, x, x), CUDNN_STATUS_SUCCESS) << "in place";
  EXPECT_FLOAT_EQ(got(x, 6)[1], low);
  for (const Status status : {of(0, x, y), of(3, x, y), of(CUDNN_SOFTMAX_LOG, x, y, 0),
                              of(CUDNN_SOFTMAX_LOG, nullptr, y), of(CUDNN_SOFTMAX_LOG, x, nullptr)})
    EXPECT_EQ(status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(of(CUDNN_SOFTMAX_LOG, x + 1, y), CUDNN_STATUS_EXECUTION_FAILED) << "beyond the end";
  y_ = tensor({1, 3, 2, 1});
  EXPECT_EQ(of(CUDNN_SOFTMAX_LOG, x, y), CUDNN_STATUS_BAD_PARAM) << "another shape";
  y_ = tensor({1, 2, 3, 1}, CUDNN_DATA_DOUBLE);
  EXPECT_EQ(of(CUDNN_SOFTMAX_LOG, x, y), CUDNN_STATUS_BAD_PARAM) << "another dtype";
}

// Of each channel; epsilon is added to the variances.
TEST_F(EmulatedCudnn, BatchNormalizationIsWithTheGivenMoments) {
  x_ = y_ = tensor({2, 2, 1, 2});
  cudnnTensorStruct* of_channels = tensor({1, 2, 1, 1});
  float *x = put(Floats{1, 2, 3, 4, 5, 6, 7, 8}), *y = put(Floats(8, NAN)), *scale = put(Floats{2, -1}),
        *shift = put(Floats{0, 10}), *mean = put(Floats{1, 3}), *variance = put(Floats{3, 15});
  const auto of = [&](const float* from, float* to, const float* variances, double epsilon = 1,
                      int mode = CUDNN_BATCHNORM_SPATIAL, float alpha = 1, float beta = 0) {
    return f_.cudnnBatchNormalizationForwardInference(handle_, mode, &alpha, &beta, x_, from, y_, to, of_channels,
                                                      scale, shift, mean, variances, epsilon);
  };
  ASSERT_EQ(of(x, y, variance), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 8), (Floats{0, 1, 10, 9.75F, 4, 5, 9, 8.75F}));
  ASSERT_EQ(of(x, y, variance, 1, CUDNN_BATCHNORM_SPATIAL, 2, 1), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(got(y, 8)[4], 12);
  ASSERT_EQ(of(x, y, put(Floats{4, 16}), 0), CUDNN_STATUS_SUCCESS) << "the least epsilon";
  EXPECT_EQ(got(y, 8)[1], 1);
  for (const Status status : {of(x, y, variance, -1e-9), of(x, y, variance, 1, 0), of(x, y, nullptr),
                              of(nullptr, y, variance), of(x, x, variance)})
    EXPECT_EQ(status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(of(x, y + 1, variance), CUDNN_STATUS_EXECUTION_FAILED) << "beyond the end";
  of_channels = tensor({1, 2, 1, 2});
  EXPECT_EQ(of(x, y, variance), CUDNN_STATUS_BAD_PARAM) << "more than one of a channel";
  of_channels = tensor({1, 2, 1, 1}, CUDNN_DATA_DOUBLE);
  EXPECT_EQ(of(x, y, variance), CUDNN_STATUS_BAD_PARAM) << "another dtype";
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cudnn_test
