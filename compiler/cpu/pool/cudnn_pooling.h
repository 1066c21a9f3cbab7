// Pooling by cuDNN on a device: which windows it has, and what programs call.
#pragma once

#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/pool/pooling.h"

#define TH_CUDNN_POOL_AXIS(axis) \
  long axis##_in, long axis##_window, long axis##_out, long axis##_stride, long axis##_padding
/// Windows of images [n, c, depth, height, width], row-major; of maxima where `divisor` is 0, else averages by that
/// PoolDivisor.
#define TH_CUDNN_POOL_PARAMETERS(T)                                                                              \
  int divisor, long n, long c, TH_CUDNN_POOL_AXIS(depth), TH_CUDNN_POOL_AXIS(height), TH_CUDNN_POOL_AXIS(width), \
      const T *x, T *y
/// dx of that from x, which averages do not read, and dy. Of equal maxima cuDNN chooses one.
#define TH_CUDNN_POOL_GRADIENT_PARAMETERS(T)                                                                     \
  int divisor, long n, long c, TH_CUDNN_POOL_AXIS(depth), TH_CUDNN_POOL_AXIS(height), TH_CUDNN_POOL_AXIS(width), \
      const T *x, const T *dy, T *dx

namespace thtrain {

/// Does cuDNN compute it by the op's definition, but for which of equal maxima has the derivative? It has maxima and
/// averages of floats, as many zeros before an axis as behind it, and no windows that stick out of these.
bool has_cudnn(const Pooling& pooling);

/// "cudnn_pool_f32" or "cudnn_pool_f64"; "cudnn_pool_gradient_f32" or "cudnn_pool_gradient_f64". Of a device.
kernel::LibraryFunction cudnn_pool_function(const kernel::Target& target, const Pooling& pooling);

}  // namespace thtrain
