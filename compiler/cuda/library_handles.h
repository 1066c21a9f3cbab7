// Handles of CUDA's libraries of mathematics on a device, which functions and threads share: each call names its stream
// and the memory that it may work in.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <map>
#include <mutex>

#include "compiler/cuda/cublaslt_handle.h"
#include "compiler/cuda/cudnn_handle.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/library_stream.h"
#include "compiler/cuda/math_functions.h"

namespace thtrain::cuda {

/// A plan of cuFFT: what cufftMakePlanMany64 takes, of arrays without gaps.
struct FftShape {
  int kind = CUFFT_C2C;
  int rank = 1;
  std::array<long long, 3> lengths = {1, 1, 1};
  long long count = 1, stride = 1;  // transforms; elements between the numbers of one, which lie side by side then

  friend auto operator<=>(const FftShape&, const FftShape&) = default;
};

class LibraryHandles {
 public:
  LibraryHandles(const Device& device, const MathLibraries& libraries)
      : cudnn(device, libraries), cublaslt(device, libraries), device_(device), libraries_(libraries) {}
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  /// f(functions, handle), by one thread at a time. The handle computes in the stream, in a workspace that is set
  /// again for each call, since cublasSetStream forgets it; by the math of floats, or, where that is asked for, of
  /// TF32.
  void with_cublas(const LibraryStream& at, bool tf32, const std::function<void(const Cublas&, cublasContext*)>& f);
  /// f(functions, plan) likewise. Plans are made once for each shape.
  void with_cufft(const LibraryStream& at, const FftShape& shape, const std::function<void(const Cufft&, int)>& f);
  /// f(functions, handle, parameters) likewise. A factorization asks for its workspace itself.
  void with_cusolver(const LibraryStream& at,
                     const std::function<void(const Cusolver&, cusolverDnContext*, cusolverDnParams*)>& f);
  /// f(functions, handle) likewise. A product asks for its workspace itself.
  void with_cusparse(const LibraryStream& at, const std::function<void(const Cusparse&, cusparseContext*)>& f);
  CudnnHandle cudnn;
  CublasLtHandle cublaslt;

 private:
  struct Plan {
    int handle;
    size_t workspace_bytes;
  };
  const Device& device_;
  const MathLibraries& libraries_;
  std::mutex mutex_;
  cublasContext* cublas_ = nullptr;
  std::map<FftShape, Plan> plans_;
  cusolverDnContext* cusolver_ = nullptr;
  cusolverDnParams* parameters_ = nullptr;  // of cuSOLVER
  cusparseContext* cusparse_ = nullptr;
};

}  // namespace thtrain::cuda
