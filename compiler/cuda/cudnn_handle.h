// A handle of cuDNN on a device, which functions and threads share, and the descriptors of what it has computed.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <map>
#include <mutex>

#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/library_stream.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain::cuda {

/// A convolution as descriptors say it: images [n, c, in...], filters [f, c / groups, kernel...], results [n, f,
/// out...], row-major, with two or three spatial axes. Behind the last axis each array has zeros.
struct CudnnConvolution {
  int pass = static_cast<int>(ConvPass::kForward);  // as wide as the rest: calls are compared by their bytes
  int dtype = CUDNN_DATA_FLOAT, math = CUDNN_FMA_MATH, mode = CUDNN_CROSS_CORRELATION;
  int axes = 2, groups = 1;
  std::array<int, 5> x = {}, w = {}, y = {};
  std::array<int, 3> padding = {}, stride = {}, dilation = {};  // as many zeros before an axis as behind it

  friend auto operator<=>(const CudnnConvolution&, const CudnnConvolution&) = default;
};

/// Pooled windows of the last two or three axes of images [n, c, in...], with results [n, c, out...], likewise.
struct CudnnPooling {
  int dtype = CUDNN_DATA_FLOAT, mode = CUDNN_POOLING_MAX_DETERMINISTIC;
  int axes = 2;
  std::array<int, 5> x = {}, y = {};
  std::array<int, 3> window = {}, padding = {}, stride = {};

  friend auto operator<=>(const CudnnPooling&, const CudnnPooling&) = default;
};

/// softmax, or its logarithm, along the middle one of three axes.
struct CudnnSoftmax {
  int dtype = CUDNN_DATA_FLOAT, algorithm = CUDNN_SOFTMAX_ACCURATE;
  std::array<int, 3> lengths = {};
};

/// Normalized along all but the middle one of three axes, the channels.
struct CudnnBatchNorm {
  int dtype = CUDNN_DATA_FLOAT;
  std::array<int, 3> lengths = {};
};

/// In the place of an algorithm: the first that cuDNN's heuristics name which is deterministic, adds the products as
/// they are, uses no tensor cores where the math is CUDNN_FMA_MATH, and works in at most kMostPickedBytes.
inline constexpr int kFirstPick = -1;
inline constexpr size_t kMostPickedBytes = size_t{1} << 30;

class CudnnHandle {
 public:
  CudnnHandle(const Device& device, const MathLibraries& libraries) : device_(device), libraries_(libraries) {}
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  /// out = that pass of a and b (x and w, w and dy, or x and dy) by an algorithm, one thread at a time, in the stream
  /// and a workspace of it. InternalError where cuDNN has no such algorithm for it.
  void convolve(const LibraryStream& at, const CudnnConvolution& c, int algorithm, const void* a, const void* b,
                void* out);
  /// y = the windows of x.
  void pool(const LibraryStream& at, const CudnnPooling& p, const void* x, void* y);
  /// dx of that. Of averages x is not read; of maxima, which are computed again in a workspace, one of equal elements
  /// has the derivative, whichever.
  void pool_gradient(const LibraryStream& at, const CudnnPooling& p, const void* x, const void* dy, void* dx);
  /// y may be x.
  void softmax(const LibraryStream& at, const CudnnSoftmax& of, const void* x, void* y);
  /// y = scale (x - mean) / sqrt(variance) + shift, each of the four an address of as many as there are channels.
  void batch_norm(const LibraryStream& at, const CudnnBatchNorm& of, const void* x, const void* scale,
                  const void* shift, const void* mean, const void* variance, void* y);

 private:
  struct Array {
    int dtype, axes;
    std::array<int, 5> lengths;

    friend auto operator<=>(const Array&, const Array&) = default;
  };
  struct Plan {
    cudnnTensorStruct *x = nullptr, *y = nullptr;
    cudnnFilterStruct* w = nullptr;
    cudnnConvolutionStruct* convolution = nullptr;
    int pick = kFirstPick;                  // where it was asked for
    std::map<int, size_t> workspaces = {};  // bytes, by algorithm
  };
  struct PoolingPlan {
    cudnnTensorStruct *x = nullptr, *y = nullptr;
    cudnnPoolingStruct* pooling = nullptr;
  };
  const Cudnn& use(const LibraryStream& at);
  cudnnTensorStruct* descriptor_of(const Cudnn& f, const Array& array);
  Plan& plan_of(const Cudnn& f, const CudnnConvolution& c);
  int picked(const Cudnn& f, const CudnnConvolution& c, const Plan& plan);
  PoolingPlan& plan_of(const Cudnn& f, const CudnnPooling& p);
  size_t workspace_bytes(const Cudnn& f, const CudnnConvolution& c, const Plan& plan, int algorithm);

  const Device& device_;
  const MathLibraries& libraries_;
  std::mutex mutex_;
  cudnnContext* handle_ = nullptr;
  std::map<Array, cudnnTensorStruct*> arrays_;
  std::map<CudnnConvolution, Plan> plans_;
  std::map<CudnnPooling, PoolingPlan> pooling_plans_;
};

}  // namespace thtrain::cuda
