// The functions of LAPACK and BLAS that factorizations call, for `count` matrices one after the other, row-major.
// A complex number is two of T. A check that does not hold is reported by ThContext::fail with its number `check`, the
// pivot, from 1, and the matrix, from 0; the result is 1 then, else 0.
#pragma once

#include <string>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/linalg/library_functions.h"

/// out = the lower factor of a [n, n], 0 above the diagonal. May be in place.
#define TH_CHOLESKY_PARAMETERS(T) long count, long n, const T *a, T *out, int check
/// out = op(triangle of a)^-1 . b, with a [n, n], b [n, k]. out may be b.
#define TH_TRIANGULAR_SOLVE_PARAMETERS(T) \
  long count, long n, long k, int lower, int transposed, int unit, const T *a, const T *b, T *out, int check
/// The packed factors of a [n, n], the numbers of a's rows [n], the permutation's sign. `packed` may be a; `pivots` is
/// for the function's own use, [count, n].
#define TH_LU_PARAMETERS(T) long count, long n, const T *a, T *packed, long *rows, long *sign, int *pivots

/// r [n, n] and q [m, n] of a [m, n], m >= n. q may be a.
#define TH_QR_PARAMETERS(T) long count, long m, long n, const T *a, T *q, T *r
/// Eigenvalues [n] and, where `wants_vectors`, eigenvectors [n, n] of the lower triangle of a.
#define TH_EIGH_PARAMETERS(T) long count, long n, int wants_vectors, const T *a, T *values, T *vectors, int check
/// The same of any a; values and vectors are complex. `is_complex`: a, too.
#define TH_EIG_PARAMETERS(T) \
  long count, long n, int is_complex, int wants_vectors, const T *a, T *values, T *vectors, int check
/// Singular values [n] and, where `wants_vectors`, vectors u [m, n] and vh [n, n] of a [m, n], m >= n.
#define TH_SVD_PARAMETERS(T) long count, long m, long n, int wants_vectors, const T *a, T *u, T *s, T *vh, int check

// By cuSOLVER on a device; info [count] is 0 where all is well. What is Hermitian is a lower triangle by rows.
/// The lower factors in the place of the lower triangles.
#define TH_DEVICE_CHOLESKY_PARAMETERS(T) long count, long n, T *matrices, int *info
/// Eigenvalues [n], and the conjugates of eigenvectors as rows, of any sign, in the place of the matrices.
#define TH_DEVICE_EIGH_PARAMETERS(T) long count, long n, int wants_vectors, T *matrices, T *values, int *info
/// Of `matrices` [n, m], the transposes, m >= n, which are lost: s [n], and the transposes of u [m, n] and vh [n, n],
/// of any sign.
#define TH_DEVICE_SVD_PARAMETERS(T) \
  long count, long m, long n, int wants_vectors, T *matrices, T *s, T *u, T *vt, int *info
/// Of `matrices` [n, n], the transposes, the transposes of the packed factors in their place, and the exchanges of rows
/// as LAPACK numbers them; info is not 0 where a factor is singular. A complex number is two of T.
#define TH_DEVICE_LU_PARAMETERS(T) long count, long n, T *matrices, long *exchanges, int *info
/// Of `matrices` [n, m], the transposes, m >= n, the transposes of r and, below it, of Householder's vectors in their
/// place, with factors [n].
#define TH_DEVICE_REFLECTIONS_PARAMETERS(T) long count, long m, long n, T *matrices, T *factors, int *info
/// The transposes of q [m, n] in the place of what that has left.
#define TH_DEVICE_Q_PARAMETERS(T) long count, long m, long n, T *matrices, const T *factors, int *info
/// By cuBLAS on a device: of op(triangle of a) . x = b, a [n, n] and b [n, k], x in the place of b.
#define TH_DEVICE_TRIANGLES_PARAMETERS(T) \
  long count, long n, long k, int lower, int transposed, int unit, const T *a, T *b

namespace thtrain {

/// "cholesky_f32", and so on: f32, f64, c64, c128.
std::string factor_function_name(const std::string& name, DType dtype);
kernel::LibraryFunction cholesky_function(DType dtype);
kernel::LibraryFunction triangular_solve_function(DType dtype);
kernel::LibraryFunction lu_function(DType dtype);
kernel::LibraryFunction qr_function(DType dtype);
kernel::LibraryFunction eigh_function(DType dtype);
kernel::LibraryFunction eig_function(DType dtype);
kernel::LibraryFunction svd_function(DType dtype);

/// The same by cuSOLVER on the target, a device (libraries/device_functions.h).
kernel::LibraryFunction cusolver_cholesky_function(const kernel::Target& target, DType dtype);
kernel::LibraryFunction cusolver_eigh_function(const kernel::Target& target, DType dtype);
kernel::LibraryFunction cusolver_svd_function(const kernel::Target& target, DType dtype);
kernel::LibraryFunction cusolver_lu_function(const kernel::Target& target, DType dtype);
/// Both of qr.
kernel::LibraryFunction cusolver_reflections_function(const kernel::Target& target, DType dtype);
kernel::LibraryFunction cusolver_q_function(const kernel::Target& target, DType dtype);
/// By cuBLAS.
kernel::LibraryFunction cublas_triangles_function(const kernel::Target& target, DType dtype);

}  // namespace thtrain
