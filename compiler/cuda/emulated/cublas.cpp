// The emulated cuBLAS. A matrix is stored by columns, `ld` elements apart; factors are numbers on the host.
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <memory>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/cuda/emulated/cublas_products.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/factor/factor.h"

// A handle is a pointer to one of these.
struct cublasContext {
  CUctx_st* context = nullptr;
  CUstream_st* stream = nullptr;
  thtrain::cuda::DeviceAddress workspace = 0;
  int math = 0;
};

namespace thtrain::cuda::emulated {
namespace {

std::map<const void*, std::unique_ptr<cublasContext>>& handles() {
  static std::map<const void*, std::unique_ptr<cublasContext>> all;
  return all;
}

template <class F>
Status in_cublas(F f) {
  return in_library(CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_EXECUTION_FAILED, f);
}

// f(machine, context, handle).
template <class F>
Status with_handle(cublasContext* handle, F f) {
  return in_cublas([&](Machine& m, CUctx_st& context) {
    cublasContext* const known = found(handles(), handle, context);
    return known ? f(m, context, *known)
                 : refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle of cuBLAS of the current context");
  });
}

Status version_of_cublas(int part, int* value) {
  *value = part == MAJOR_VERSION ? 12 : part == MINOR_VERSION ? 4 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

Status create_handle(cublasContext** out) {
  return in_cublas([&](Machine& m, CUctx_st& context) {
    if (refused_in_capture(m, "a new handle") != CUDA_SUCCESS) return Status{CUBLAS_STATUS_ALLOC_FAILED};
    auto handle = std::make_unique<cublasContext>(cublasContext{&context});
    *out = handle.get();
    handles()[*out] = std::move(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

Status destroy_handle(cublasContext* handle) {
  return with_handle(handle, [&](Machine& m, CUctx_st& context, cublasContext&) {
    drain(m, context);
    handles().erase(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

// The workspace is forgotten.
Status set_stream(cublasContext* handle, CUstream_st* stream) {
  return with_handle(handle, [&](Machine& m, CUctx_st& context, cublasContext& h) {
    if (!found(m.streams, stream, context)) return no_handle("stream");
    h.stream = stream;
    h.workspace = 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}

Status set_workspace(cublasContext* handle, void* workspace, size_t bytes) {
  return with_handle(handle, [&](Machine&, CUctx_st& context, cublasContext& h) {
    const DeviceAddress at = reinterpret_cast<DeviceAddress>(workspace);
    if (at % 256 != 0) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace is aligned to 256 bytes");
    if (bytes == 0 || !context.memory->holds(at, bytes))
      return refuse(CUBLAS_STATUS_INVALID_VALUE, str("the workspace has no ", bytes, " bytes of the device"));
    h.workspace = at;
    return CUBLAS_STATUS_SUCCESS;
  });
}

Status set_math(cublasContext* handle, int mode) {
  return with_handle(handle, [&](Machine&, CUctx_st&, cublasContext& h) {
    if (mode != CUBLAS_DEFAULT_MATH && mode != CUBLAS_TF32_TENSOR_OP_MATH)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a mode that thtrain does not set");
    h.math = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

// ---- products

bool is_op(int op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

template <class T>
Status multiply(cublasContext* handle, Product<T> product) {
  return with_handle(handle, [&](Machine& machine, CUctx_st& context, cublasContext& h) {
    if (!h.stream || h.workspace == 0)
      return refuse(CUBLAS_STATUS_ALLOC_FAILED, "no workspace was set behind cublasSetStream");
    if (product.m == 0 || product.n == 0 || product.count == 0) return CUBLAS_STATUS_SUCCESS;
    if (!product.lies_in(context))
      return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "a matrix does not lie in one allocation of the device");
    const bool tf32 = h.math == CUBLAS_TF32_TENSOR_OP_MATH;
    const std::string what = str("cuBLAS ", name_of(dtype_of<T>()), ' ', tf32, ' ', product.count, ' ', product.m, 'x',
                                 product.k, 'x', product.n, ' ', product.a.op, product.b.op);
    return ask(machine, context, h.stream, what, CUBLAS_STATUS_EXECUTION_FAILED,
               [&context, product, tf32, workspace = h.workspace] {
                 if (!is_there(context, product.lies_in(context) && context.memory->holds(workspace, 1))) return;
                 for (int64_t i = 0; i < product.count; ++i) product.run(context, i, tf32, true);
               });
  });
}

// Our complex numbers in the place of theirs, which are laid out alike.
template <class T>
struct Own {
  using type = T;
};
template <>
struct Own<float2> {
  using type = std::complex<float>;
};
template <>
struct Own<double2> {
  using type = std::complex<double>;
};

template <class T>
const auto* own(const T* number) {
  return reinterpret_cast<const typename Own<T>::type*>(number);
}

template <class T>
Status gemm_of_batch(cublasContext* handle, int trans_a, int trans_b, int m, int n, int k, const T* alpha, const T* a,
                     int lda, long long a_stride, const T* b, int ldb, long long b_stride, const T* beta, T* c, int ldc,
                     long long c_stride, int count) {
  using Number = typename Own<T>::type;
  if (!is_op(trans_a) || !is_op(trans_b)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such operation");
  if (m < 0 || n < 0 || k < 0 || count < 0) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a length is negative");
  if (!alpha || !beta) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a factor is null");
  const int a_rows = trans_a == CUBLAS_OP_N ? m : k, b_rows = trans_b == CUBLAS_OP_N ? k : n;
  if (lda < std::max(1, a_rows) || ldb < std::max(1, b_rows) || ldc < std::max(1, m))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a leading dimension is less than the rows");
  return multiply<Number>(handle, {m,
                                   n,
                                   k,
                                   count,
                                   *own(alpha),
                                   *own(beta),
                                   {trans_a, a_rows, trans_a == CUBLAS_OP_N ? k : m, lda, a, a_stride},
                                   {trans_b, b_rows, trans_b == CUBLAS_OP_N ? n : k, ldb, b, b_stride},
                                   {CUBLAS_OP_N, m, n, ldc, c, c_stride}});
}

template <class T>
Status gemm(cublasContext* handle, int trans_a, int trans_b, int m, int n, int k, const T* alpha, const T* a, int lda,
            const T* b, int ldb, const T* beta, T* c, int ldc) {
  return gemm_of_batch(handle, trans_a, trans_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

// A vector is a matrix of one row, whose columns are incx apart. Increments are positive, as thtrain's are.
template <class T>
Status gemv(cublasContext* handle, int trans, int m, int n, const T* alpha, const T* a, int lda, const T* x, int incx,
            const T* beta, T* y, int incy) {
  if (!is_op(trans)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such operation");
  if (m < 0 || n < 0 || lda < std::max(1, m) || incx < 1 || incy < 1 || !alpha || !beta)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a length, an increment or a factor");
  const int rows = trans == CUBLAS_OP_N ? m : n, inner = trans == CUBLAS_OP_N ? n : m;
  // y^T = x^T op(A)^T.
  return multiply<T>(handle, {1,
                              rows,
                              inner,
                              1,
                              *own(alpha),
                              *own(beta),
                              {CUBLAS_OP_N, 1, inner, incx, x, 0},
                              {trans == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, lda, a, 0},
                              {CUBLAS_OP_N, 1, rows, incy, y, 0}});
}

// X op(A) = alpha B, X in the place of B, which thtrain asks for alone: what is on the right by columns is on the left
// by rows, as the op has it.
template <class T>
Status trsm(cublasContext* handle, int side, int triangle, int trans, int diagonal, int m, int n, const T* alpha,
            const T* a, int lda, T* b, int ldb) {
  using Number = typename Own<T>::type;
  if (side != CUBLAS_SIDE_RIGHT || (trans != CUBLAS_OP_N && trans != CUBLAS_OP_T) || !alpha || *own(alpha) != Number(1))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "equations that thtrain does not ask for");
  if ((triangle != CUBLAS_FILL_MODE_UPPER && triangle != CUBLAS_FILL_MODE_LOWER) ||
      (diagonal != CUBLAS_DIAG_UNIT && diagonal != CUBLAS_DIAG_NON_UNIT))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such triangle");
  if (m < 0 || n < 0 || lda < std::max(1, n) || ldb < std::max(1, m))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a length or a leading dimension");
  return with_handle(handle, [&](Machine& machine, CUctx_st& context, cublasContext& h) {
    if (!h.stream || h.workspace == 0)
      return refuse(CUBLAS_STATUS_ALLOC_FAILED, "no workspace was set behind cublasSetStream");
    const Stored matrix{CUBLAS_OP_N, n, n, lda, a, 0}, right{CUBLAS_OP_N, m, n, ldb, b, 0};
    const auto lie_in = [matrix, right](const CUctx_st& where) {
      return matrix.of<Number>(0).lies_in(where) && right.of<Number>(0).lies_in(where);
    };
    if (!lie_in(context))
      return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "a matrix does not lie in one allocation of the device");
    const Triangle t{triangle == CUBLAS_FILL_MODE_UPPER, trans == CUBLAS_OP_T, diagonal == CUBLAS_DIAG_UNIT};
    const std::string what =
        str("cuBLAS trsm ", name_of(dtype_of<Number>()), ' ', m, 'x', n, ' ', t.lower, t.transposed, t.unit);
    return ask(machine, context, h.stream, what, CUBLAS_STATUS_EXECUTION_FAILED, [&context, matrix, right, lie_in, t] {
      if (!is_there(context, lie_in(context))) return;
      const DeviceRows columns = right.of<Number>(0);
      const bool is_written = matrix.of<Number>(0).is_written(context) && columns.is_written(context);
      const DType dtype = dtype_of<Number>();
      const Expr triangles = make_input({.dtype = dtype, .dims = {matrix.rows, matrix.rows}}, "a"),
                 sides = make_input({.dtype = dtype, .dims = {right.columns, right.rows}}, "b");
      Tensor rows = Tensor::empty(dtype, {matrix.rows, matrix.rows}),
             results = Tensor::empty(dtype, {right.columns, right.rows});
      matrix.of<Number>(0).read(context, rows.raw());
      columns.read(context, results.raw());
      try {
        results = evaluate({triangular_solve(triangles, sides, t)}, {{triangles, rows}, {sides, results}})[0];
      } catch (const UserError&) {  // a 0 on the diagonal, by which the library divides
        for (int64_t i = 0; i < results.size(); ++i) results.data<Number>()[i] = Number(NAN);
      }
      columns.write(context, results.contiguous().raw());
      if (is_written) columns.note_written(context);
    });
  });
}

}  // namespace

const Opened<Cublas>& cublas() {
  static const Opened<Cublas> once = [] {
    Opened<Cublas> out{};
    out.version = "emulated";
    out.functions = {.cublasGetProperty = version_of_cublas,
                     .cublasCreate_v2 = create_handle,
                     .cublasDestroy_v2 = destroy_handle,
                     .cublasSetStream_v2 = set_stream,
                     .cublasSetWorkspace_v2 = set_workspace,
                     .cublasSetMathMode = set_math,
                     .cublasSgemm_v2 = gemm<float>,
                     .cublasDgemm_v2 = gemm<double>,
                     .cublasCgemm_v2 = gemm<float2>,
                     .cublasZgemm_v2 = gemm<double2>,
                     .cublasSgemmStridedBatched = gemm_of_batch<float>,
                     .cublasDgemmStridedBatched = gemm_of_batch<double>,
                     .cublasCgemmStridedBatched = gemm_of_batch<float2>,
                     .cublasZgemmStridedBatched = gemm_of_batch<double2>,
                     .cublasSgemv_v2 = gemv<float>,
                     .cublasDgemv_v2 = gemv<double>,
                     .cublasStrsm_v2 = trsm<float>,
                     .cublasDtrsm_v2 = trsm<double>,
                     .cublasCtrsm_v2 = trsm<float2>,
                     .cublasZtrsm_v2 = trsm<double2>};
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
