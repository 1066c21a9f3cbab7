// Products of a sparse matrix by cuSPARSE, a candidate of those that kernels compute (csr_dot_kernels.h).
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/sparse/csr_dot_kernels.h"

/// y [m, n] = A x + beta y for A [m, k] of so many stored elements in rows, x [k, n], row-major; a vector has n = 1.
/// The pattern is right: nothing else looks at it.
#define TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(T, I) \
  long m, long k, long n, long stored, const T *data, const I *indices, const I *indptr, const T *x, int adds, T *y

namespace thtrain {

/// "cusparse_product_f32_i32" and so on, on the target, a device (libraries/device_functions.h).
kernel::LibraryFunction cusparse_product_function(const kernel::Target& target, DType dtype, DType of_indices);

/// Does the chooser name cuSPARSE for this node of csr_dot? Only of A x of floats on a device, with known lengths that
/// are not 0.
bool is_by_cusparse(const Node& product, const kernel::Chooser* chooser, const kernel::Target& target);
/// Checks the pattern, and calls it.
void lower_by_cusparse(kernel::StepBuilder& b, const CsrDotStep& step);

}  // namespace thtrain
