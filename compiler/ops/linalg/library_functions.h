// The functions of BLAS that programs call, by what the runtime implements (libraries/matrix_products.h, onednn.h).
//
// gemm: row-major C[m, n] = alpha op(A) op(B) + beta C; op transposes where trans is not 0. ld: elements between rows
// as stored. By IEEE arithmetic: a factor of 0 loses no NaN or infinity of what it multiplies. Where reads_c is 0, C is
// only written, and beta not looked at. Factors are passed by their addresses.
// gemv: y[m or n] = alpha op(A) x + beta y with A[m, n] row-major; inc: elements between entries. The rest as for gemm.
// ger: A[m, n] += alpha x y^T.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/text_of.h"

/// The parameters after the ThContext*, for programs as text and for the runtime's functions as C++.
#define TH_GEMM_PARAMETERS(T)                                                                                      \
  int trans_a, int trans_b, long m, long n, long k, const T *alpha_at, const T *a, long lda, const T *b, long ldb, \
      const T *beta_at, int reads_c, T *c, long ldc
/// The same for each of [outer, inner] matrices, a_outer and a_inner elements apart, and so on.
#define TH_BATCHED_GEMM_PARAMETERS(T)                                                                                  \
  TH_GEMM_PARAMETERS(T), long outer, long a_outer, long b_outer, long c_outer, long inner, long a_inner, long b_inner, \
      long c_inner
#define TH_GEMV_PARAMETERS(T)                                                                                    \
  int trans_a, long m, long n, const T *alpha_at, const T *a, long lda, const T *x, long incx, const T *beta_at, \
      int reads_y, T *y, long incy
/// By cuBLASLt on a device: out [m, n] = op(A) op(B) + bias [n], where has_bias; with relu, the larger of that and 0;
/// `count` times, strides of A and B apart, with one bias for all. out has no gaps.
#define TH_LAYER_PARAMETERS(T)                                                                                \
  int trans_a, int trans_b, int has_bias, int relu, long m, long n, long k, const T *a, long lda, const T *b, \
      long ldb, const T *bias, T *out, long count, long a_stride, long b_stride
#define TH_GER_PARAMETERS(T) \
  long m, long n, const T *alpha_at, const T *x, long incx, const T *y, long incy, T *a, long lda

namespace thtrain {

/// "gemm_f32" or "gemm_f64", and so on; of float32 or float64.
const kernel::LibraryFunction& gemm_function(DType dtype);
const kernel::LibraryFunction& batched_gemm_function(DType dtype);
const kernel::LibraryFunction& gemv_function(DType dtype);
const kernel::LibraryFunction& ger_function(DType dtype);
/// gemm of float32 by oneDNN; no length is 0.
const kernel::LibraryFunction& onednn_gemm_function();

/// A function of a library on the target, a device; the emulated one has functions of its own.
/// `joins_graph`: kernel::LibraryFunction::joins_graph.
kernel::LibraryFunction device_function(const kernel::Target& target, const std::string& name, const char* parameters,
                                        bool joins_graph);
/// gemm, batched_gemm and gemv of cuBLAS (libraries/device_functions.h), for float32, float64 and complex numbers:
/// these are their parts, and have factors that are real. No factor is 0 that reads what it multiplies.
kernel::LibraryFunction cublas_gemm_function(const kernel::Target& target, DType dtype, bool tf32 = false);
kernel::LibraryFunction cublas_batched_gemm_function(const kernel::Target& target, DType dtype, bool tf32 = false);
kernel::LibraryFunction cublas_gemv_function(const kernel::Target& target, DType dtype);

}  // namespace thtrain
