// Factors of real matrices by cuSOLVER, one matrix after the other. Its matrices are stored by columns: what is lower
// by rows is upper there.
#include <algorithm>

#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/factor/factor_functions.h"

namespace thtrain {
namespace {

using cuda::Cusolver;

template <class T>
constexpr int kTypeOf = sizeof(T) == 4 ? cuda::CUDA_R_32F : cuda::CUDA_R_64F;

// Memory that a factorization asks for.
struct SolverBuffers {
  size_t device_bytes = 0, host_bytes = 0;
  void *device = nullptr, *host = nullptr;

  void allocate(const cuda::LibraryStream& at) {
    if (device_bytes > 0) device = reinterpret_cast<void*>(at.workspace(device_bytes));
    if (host_bytes > 0) host = at.host_workspace(host_bytes);
  }
};

// f(functions, handle, parameters, stream) of a call that has something to do.
template <class F>
void with_cusolver(ThContext* context, int place, bool has_work, F f) {
  DeviceCalls::call_library(context, place, [&](DeviceCalls& calls) {
    if (!has_work) return;
    const cuda::LibraryStream at = calls.library_stream();
    calls.on().libraries.with_cusolver(at, [&](const Cusolver& c, cusolverDnContext* handle,
                                               cusolverDnParams* parameters) { f(c, handle, parameters, at); });
  });
}

template <class T>
void cusolver_cholesky(ThContext* context, int place, TH_DEVICE_CHOLESKY_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T>;
    SolverBuffers buffers;
    cuda::check_math(c.cusolverDnXpotrf_bufferSize(handle, parameters, cuda::CUBLAS_FILL_MODE_UPPER, n, kType, matrices,
                                                   n, kType, &buffers.device_bytes, &buffers.host_bytes),
                     "cusolverDnXpotrf_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(
          c.cusolverDnXpotrf(handle, parameters, cuda::CUBLAS_FILL_MODE_UPPER, n, kType, matrices + m * n * n, n, kType,
                             buffers.device, buffers.device_bytes, buffers.host, buffers.host_bytes, info + m),
          "cusolverDnXpotrf");
  });
}

template <class T>
void cusolver_eigh(ThContext* context, int place, TH_DEVICE_EIGH_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T>;
    const int vectors = wants_vectors ? cuda::CUSOLVER_EIG_MODE_VECTOR : cuda::CUSOLVER_EIG_MODE_NOVECTOR;
    SolverBuffers buffers;
    cuda::check_math(
        c.cusolverDnXsyevd_bufferSize(handle, parameters, vectors, cuda::CUBLAS_FILL_MODE_UPPER, n, kType, matrices, n,
                                      kType, values, kType, &buffers.device_bytes, &buffers.host_bytes),
        "cusolverDnXsyevd_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(c.cusolverDnXsyevd(handle, parameters, vectors, cuda::CUBLAS_FILL_MODE_UPPER, n, kType,
                                          matrices + m * n * n, n, kType, values + m * n, kType, buffers.device,
                                          buffers.device_bytes, buffers.host, buffers.host_bytes, info + m),
                       "cusolverDnXsyevd");
  });
}

template <class T>
void cusolver_svd(ThContext* context, int place, TH_DEVICE_SVD_PARAMETERS(T)) {
  const bool has_work = count > 0 && n > 0;
  with_cusolver(context, place, has_work, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T>;
    const signed char job = wants_vectors ? 'S' : 'N';
    SolverBuffers buffers;
    cuda::check_math(
        c.cusolverDnXgesvd_bufferSize(handle, parameters, job, job, m, n, kType, matrices, m, kType, s, kType, u, m,
                                      kType, vt, n, kType, &buffers.device_bytes, &buffers.host_bytes),
        "cusolverDnXgesvd_bufferSize");
    buffers.allocate(at);
    for (long i = 0; i < count; ++i)
      cuda::check_math(
          c.cusolverDnXgesvd(handle, parameters, job, job, m, n, kType, matrices + i * m * n, m, kType, s + i * n,
                             kType, u + i * m * n, m, kType, vt + i * n * n, n, kType, buffers.device,
                             buffers.device_bytes, buffers.host, buffers.host_bytes, info + i),
          "cusolverDnXgesvd");
  });
}

template <class T, bool IsComplex>
void cusolver_lu(ThContext* context, int place, TH_DEVICE_LU_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = IsComplex ? (sizeof(T) == 4 ? cuda::CUDA_C_32F : cuda::CUDA_C_64F) : kTypeOf<T>;
    SolverBuffers buffers;
    cuda::check_math(c.cusolverDnXgetrf_bufferSize(handle, parameters, n, n, kType, matrices, n, kType,
                                                   &buffers.device_bytes, &buffers.host_bytes),
                     "cusolverDnXgetrf_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(c.cusolverDnXgetrf(handle, parameters, n, n, kType, matrices + (IsComplex ? 2 : 1) * m * n * n,
                                          n, exchanges + m * n, kType, buffers.device, buffers.device_bytes,
                                          buffers.host, buffers.host_bytes, info + m),
                       "cusolverDnXgetrf");
  });
}

}  // namespace

NamedFunctions cusolver_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, str("cusolver_", name), "cuSOLVER", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<Cusolver>& {
                                  return is_emulated ? cuda::emulated::cusolver() : cuda::math_libraries().cusolver();
                                });
  };
  add("cholesky_f32", cusolver_cholesky<float>);
  add("cholesky_f64", cusolver_cholesky<double>);
  add("eigh_f32", cusolver_eigh<float>);
  add("eigh_f64", cusolver_eigh<double>);
  add("svd_f32", cusolver_svd<float>);
  add("svd_f64", cusolver_svd<double>);
  add("lu_f32", cusolver_lu<float, false>);
  add("lu_f64", cusolver_lu<double, false>);
  add("lu_c64", cusolver_lu<float, true>);
  add("lu_c128", cusolver_lu<double, true>);
  return out;
}

}  // namespace thtrain
