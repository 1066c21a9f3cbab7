// A handle of cuBLASLt on a device, which functions and threads share.
#pragma once

#include <mutex>

#include "compiler/cuda/device.h"
#include "compiler/cuda/library_stream.h"
#include "compiler/cuda/math_functions.h"

namespace thtrain::cuda {

/// D [m, n] = op(A) op(B), row-major, `count` times; with a bias, D[i, j] += bias[j], the same for each of the batch;
/// with relu, the larger of that and 0. D has no gaps; of A and B `ld` elements between rows as stored, and strides of
/// the batch.
struct CublasLtProduct {
  int dtype = CUDA_R_32F;  // or CUDA_R_64F
  int trans_a = 0, trans_b = 0, has_bias = 0, relu = 0, tf32 = 0;
  int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1;
  int64_t count = 1, a_stride = 0, b_stride = 0;
};

/// What cublasLtMatmulAlgoGetHeuristic tells of an algorithm: cublasLtMatmulHeuristicResult_t.
struct CublasLtAlgorithmFound {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  Status status;
  float waves;
  int reserved[4];
};

class CublasLtHandle {
 public:
  CublasLtHandle(const Device& device, const MathLibraries& libraries) : device_(device), libraries_(libraries) {}
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;

  /// By the first algorithm that its heuristics name of those that add in an order that is always the same, in the
  /// stream and a workspace of it; one thread at a time. InternalError where there is none.
  void multiply(const LibraryStream& at, const CublasLtProduct& p, const void* a, const void* b, const void* bias,
                void* d);

 private:
  const Device& device_;
  const MathLibraries& libraries_;
  std::mutex mutex_;
  cublasLtContext* handle_ = nullptr;
};

}  // namespace thtrain::cuda
