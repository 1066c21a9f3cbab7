// QR factorizations of the emulated cuSOLVER, as LAPACK has them: Householder's vectors below the diagonal of r.
#include <algorithm>

#include "compiler/cuda/emulated/cusolver_objects.h"
#include "compiler/ops/factor/reflections.h"

namespace thtrain::cuda::emulated {
namespace {

template <class T>
constexpr int kSolverType = 0;
template <>
constexpr int kSolverType<float> = CUDA_R_32F;
template <>
constexpr int kSolverType<double> = CUDA_R_64F;
template <>
constexpr int kSolverType<float2> = CUDA_C_32F;
template <>
constexpr int kSolverType<double2> = CUDA_C_64F;

// Its rows are the columns that `stored` reads and writes.
Matrix matrix_of(const CUctx_st& context, const Columns& stored) {
  return transposed(Matrix(stored.read(context), 0));
}

void put_back(const CUctx_st& context, const Columns& stored, const Matrix& matrix, bool is_written) {
  Tensor out = Tensor::empty(stored.element(), {stored.columns, stored.rows});
  transposed(matrix).store(out, 0);
  stored.write(context, out, is_written);
}

Columns vector_of(int type, const void* at, int64_t length) {
  return {type, const_cast<void*>(at), length, 1, std::max<int64_t>(1, length)};
}

Status geqrf_size(Handle* handle, Parameters*, int64_t, int64_t, int, const void*, int64_t, int, const void*, int,
                  size_t* on_device, size_t* on_host) {
  return solver_buffer_sizes(handle, on_device, on_host);
}

Status geqrf(Handle* handle, Parameters* parameters, int64_t m, int64_t n, int of_a, void* a, int64_t lda, int of_tau,
             void* tau, int computed_in, void* device_buffer, size_t on_device, void*, size_t, int* info) {
  if (m < n) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "fewer rows than columns, which thtrain does not ask for");
  const Columns matrix{of_a, a, m, n, lda}, factors = vector_of(of_tau, tau, n);
  return factorize(handle, parameters, {matrix, factors}, computed_in, {device_buffer, on_device, info},
                   [=](const CUctx_st& context) {
                     const bool is_written = matrix.rows_of_device().is_written(context);
                     Matrix r = matrix_of(context, matrix), taus(n, 1);
                     const Reflections found = reflect_columns(r);
                     for (int64_t j = 0; j < n; ++j) {
                       taus(j, 0) = found.factors[static_cast<size_t>(j)];
                       for (int64_t i = j + 1; i < m; ++i) r(i, j) = found.vectors(i, j);
                     }
                     put_back(context, matrix, r, is_written);
                     put_back(context, factors, taus, is_written);
                     return 0;
                   });
}

template <class T>
Status orgqr_size(Handle* handle, int, int, int, const T*, int, const T*, int* elements) {
  size_t on_device = 0, on_host = 0;
  const Status status = solver_buffer_sizes(handle, &on_device, &on_host);
  *elements = static_cast<int>(on_device / size_of(Columns{kSolverType<T>, nullptr, 0, 0, 1}.element()));
  return status;
}

template <class T>
Status orgqr(Handle* handle, int m, int n, int k, T* a, int lda, const T* tau, T* buffer, int elements, int* info) {
  if (m < n || k != n) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "other lengths than m >= n = k");
  const Columns matrix{kSolverType<T>, a, m, n, lda}, factors = vector_of(kSolverType<T>, tau, n);
  const size_t bytes = static_cast<size_t>(std::max(0, elements)) * size_of(matrix.element());
  return factorize(handle, &the_solver_parameters(), {matrix, factors}, kSolverType<T>, {buffer, bytes, info},
                   [=](const CUctx_st& context) {
                     const bool is_written =
                         matrix.rows_of_device().is_written(context) && factors.rows_of_device().is_written(context);
                     Matrix v = matrix_of(context, matrix);
                     const Matrix taus = matrix_of(context, factors);
                     Reflections reflections{Matrix(m, n), {}};
                     for (int64_t j = 0; j < n; ++j) {
                       reflections.factors.push_back(taus(j, 0));
                       reflections.vectors(j, j) = 1;
                       for (int64_t i = j + 1; i < m; ++i) reflections.vectors(i, j) = v(i, j);
                     }
                     put_back(context, matrix, product_of(reflections), is_written);
                     return 0;
                   });
}

}  // namespace

void add_reflections(Cusolver& c) {
  c.cusolverDnXgeqrf_bufferSize = geqrf_size;
  c.cusolverDnXgeqrf = geqrf;
  c.cusolverDnSorgqr_bufferSize = orgqr_size<float>;
  c.cusolverDnSorgqr = orgqr<float>;
  c.cusolverDnDorgqr_bufferSize = orgqr_size<double>;
  c.cusolverDnDorgqr = orgqr<double>;
  c.cusolverDnCungqr_bufferSize = orgqr_size<float2>;
  c.cusolverDnCungqr = orgqr<float2>;
  c.cusolverDnZungqr_bufferSize = orgqr_size<double2>;
  c.cusolverDnZungqr = orgqr<double2>;
}

}  // namespace thtrain::cuda::emulated
