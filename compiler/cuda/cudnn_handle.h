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
  ConvPass pass = ConvPass::kForward;
  int dtype = CUDNN_DATA_FLOAT, math = CUDNN_FMA_MATH, mode = CUDNN_CROSS_CORRELATION;
  int axes = 2, groups = 1;
  std::array<int, 5> x = {}, w = {}, y = {};
  std::array<int, 3> padding = {}, stride = {}, dilation = {};  // as many zeros before an axis as behind it

  friend auto operator<=>(const CudnnConvolution&, const CudnnConvolution&) = default;
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

 private:
  struct Plan {
    cudnnTensorStruct *x = nullptr, *y = nullptr;
    cudnnFilterStruct* w = nullptr;
    cudnnConvolutionStruct* convolution = nullptr;
    int pick = kFirstPick;                  // where it was asked for
    std::map<int, size_t> workspaces = {};  // bytes, by algorithm
  };
  const Cudnn& use(const LibraryStream& at);
  Plan& plan_of(const Cudnn& f, const CudnnConvolution& c);
  int picked(const Cudnn& f, const CudnnConvolution& c, const Plan& plan);
  size_t workspace_bytes(const Cudnn& f, const CudnnConvolution& c, const Plan& plan, int algorithm);

  const Device& device_;
  const MathLibraries& libraries_;
  std::mutex mutex_;
  cudnnContext* handle_ = nullptr;
  std::map<CudnnConvolution, Plan> plans_;
};

}  // namespace thtrain::cuda
