// Factors of matrices by cuSOLVER, one matrix after the other. Its matrices are stored by columns: what is lower
// by rows is upper there.
#include <climits>

#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/factor/factor_functions.h"

namespace thtrain {
namespace {

using cuda::Cusolver;

// Of numbers whose parts are T, and how many of these one has.
template <class T, bool IsComplex>
constexpr int kTypeOf = IsComplex ? (sizeof(T) == 4 ? cuda::CUDA_C_32F : cuda::CUDA_C_64F)
                                  : (sizeof(T) == 4 ? cuda::CUDA_R_32F : cuda::CUDA_R_64F);
template <bool IsComplex>
constexpr long kPartsOf = IsComplex ? 2 : 1;

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

template <class T, bool IsComplex>
void cusolver_cholesky(ThContext* context, int place, TH_DEVICE_CHOLESKY_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T, IsComplex>;
    SolverBuffers buffers;
    cuda::check_math(c.cusolverDnXpotrf_bufferSize(handle, parameters, cuda::CUBLAS_FILL_MODE_UPPER, n, kType, matrices,
                                                   n, kType, &buffers.device_bytes, &buffers.host_bytes),
                     "cusolverDnXpotrf_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(c.cusolverDnXpotrf(handle, parameters, cuda::CUBLAS_FILL_MODE_UPPER, n, kType,
                                          matrices + kPartsOf<IsComplex> * m * n * n, n, kType, buffers.device,
                                          buffers.device_bytes, buffers.host, buffers.host_bytes, info + m),
                       "cusolverDnXpotrf");
  });
}

template <class T, bool IsComplex>
void cusolver_eigh(ThContext* context, int place, TH_DEVICE_EIGH_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T, IsComplex>, kReal = kTypeOf<T, false>;
    const int vectors = wants_vectors ? cuda::CUSOLVER_EIG_MODE_VECTOR : cuda::CUSOLVER_EIG_MODE_NOVECTOR;
    SolverBuffers buffers;
    cuda::check_math(
        c.cusolverDnXsyevd_bufferSize(handle, parameters, vectors, cuda::CUBLAS_FILL_MODE_UPPER, n, kType, matrices, n,
                                      kReal, values, kType, &buffers.device_bytes, &buffers.host_bytes),
        "cusolverDnXsyevd_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(
          c.cusolverDnXsyevd(handle, parameters, vectors, cuda::CUBLAS_FILL_MODE_UPPER, n, kType,
                             matrices + kPartsOf<IsComplex> * m * n * n, n, kReal, values + m * n, kType,
                             buffers.device, buffers.device_bytes, buffers.host, buffers.host_bytes, info + m),
          "cusolverDnXsyevd");
  });
}

template <class T, bool IsComplex>
void cusolver_svd(ThContext* context, int place, TH_DEVICE_SVD_PARAMETERS(T)) {
  const bool has_work = count > 0 && n > 0;
  with_cusolver(context, place, has_work, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T, IsComplex>, kReal = kTypeOf<T, false>;
    const signed char job = wants_vectors ? 'S' : 'N';
    SolverBuffers buffers;
    cuda::check_math(
        c.cusolverDnXgesvd_bufferSize(handle, parameters, job, job, m, n, kType, matrices, m, kReal, s, kType, u, m,
                                      kType, vt, n, kType, &buffers.device_bytes, &buffers.host_bytes),
        "cusolverDnXgesvd_bufferSize");
    buffers.allocate(at);
    for (long i = 0; i < count; ++i)
      cuda::check_math(
          c.cusolverDnXgesvd(handle, parameters, job, job, m, n, kType, matrices + kPartsOf<IsComplex> * i * m * n, m,
                             kReal, s + i * n, kType, u + kPartsOf<IsComplex> * i * m * n, m, kType,
                             vt + kPartsOf<IsComplex> * i * n * n, n, kType, buffers.device, buffers.device_bytes,
                             buffers.host, buffers.host_bytes, info + i),
          "cusolverDnXgesvd");
  });
}

template <class T, bool IsComplex>
void cusolver_lu(ThContext* context, int place, TH_DEVICE_LU_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T, IsComplex>;
    SolverBuffers buffers;
    cuda::check_math(c.cusolverDnXgetrf_bufferSize(handle, parameters, n, n, kType, matrices, n, kType,
                                                   &buffers.device_bytes, &buffers.host_bytes),
                     "cusolverDnXgetrf_bufferSize");
    buffers.allocate(at);
    for (long m = 0; m < count; ++m)
      cuda::check_math(c.cusolverDnXgetrf(handle, parameters, n, n, kType, matrices + kPartsOf<IsComplex> * m * n * n,
                                          n, exchanges + m * n, kType, buffers.device, buffers.device_bytes,
                                          buffers.host, buffers.host_bytes, info + m),
                       "cusolverDnXgetrf");
  });
}

// ---- qr: orgqr and ungqr have no common form

template <class T, bool IsComplex>
struct OfQ;
template <>
struct OfQ<float, false> {
  using Number = float;
  static constexpr auto kSize = &Cusolver::cusolverDnSorgqr_bufferSize;
  static constexpr auto kMake = &Cusolver::cusolverDnSorgqr;
};
template <>
struct OfQ<double, false> {
  using Number = double;
  static constexpr auto kSize = &Cusolver::cusolverDnDorgqr_bufferSize;
  static constexpr auto kMake = &Cusolver::cusolverDnDorgqr;
};
template <>
struct OfQ<float, true> {
  using Number = float2;
  static constexpr auto kSize = &Cusolver::cusolverDnCungqr_bufferSize;
  static constexpr auto kMake = &Cusolver::cusolverDnCungqr;
};
template <>
struct OfQ<double, true> {
  using Number = double2;
  static constexpr auto kSize = &Cusolver::cusolverDnZungqr_bufferSize;
  static constexpr auto kMake = &Cusolver::cusolverDnZungqr;
};

template <class T, bool IsComplex>
void cusolver_reflections(ThContext* context, int place, TH_DEVICE_REFLECTIONS_PARAMETERS(T)) {
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto* parameters, auto& at) {
    constexpr int kType = kTypeOf<T, IsComplex>;
    constexpr long kParts = kPartsOf<IsComplex>;
    SolverBuffers buffers;
    cuda::check_math(c.cusolverDnXgeqrf_bufferSize(handle, parameters, m, n, kType, matrices, m, kType, factors, kType,
                                                   &buffers.device_bytes, &buffers.host_bytes),
                     "cusolverDnXgeqrf_bufferSize");
    buffers.allocate(at);
    for (long i = 0; i < count; ++i)
      cuda::check_math(c.cusolverDnXgeqrf(handle, parameters, m, n, kType, matrices + kParts * i * m * n, m, kType,
                                          factors + kParts * i * n, kType, buffers.device, buffers.device_bytes,
                                          buffers.host, buffers.host_bytes, info + i),
                       "cusolverDnXgeqrf");
  });
}

template <class T, bool IsComplex>
void cusolver_q(ThContext* context, int place, TH_DEVICE_Q_PARAMETERS(T)) {
  TH_CHECK(m <= INT_MAX, "a length of ", m, " for cuSOLVER");
  with_cusolver(context, place, count > 0 && n > 0, [&](const Cusolver& c, auto* handle, auto*, auto& at) {
    using Of = OfQ<T, IsComplex>;
    using Number = typename Of::Number;
    constexpr long kParts = kPartsOf<IsComplex>;
    const int rows = static_cast<int>(m), columns = static_cast<int>(n);
    const auto all = reinterpret_cast<Number*>(matrices);
    const auto of_all = reinterpret_cast<const Number*>(factors);
    int elements = 0;
    cuda::check_math((c.*Of::kSize)(handle, rows, columns, columns, all, rows, of_all, &elements),
                     "cusolverDn orgqr_bufferSize");
    SolverBuffers buffers{.device_bytes = static_cast<size_t>(elements) * sizeof(T) * kParts};
    buffers.allocate(at);
    for (long i = 0; i < count; ++i)
      cuda::check_math(
          (c.*Of::kMake)(handle, rows, columns, columns, reinterpret_cast<Number*>(matrices + kParts * i * m * n), rows,
                         reinterpret_cast<const Number*>(factors + kParts * i * n),
                         static_cast<Number*>(buffers.device), elements, info + i),
          "cusolverDn orgqr");
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
#define TH_ADD(name, function)               \
  add(name "_f32", function<float, false>);  \
  add(name "_f64", function<double, false>); \
  add(name "_c64", function<float, true>);   \
  add(name "_c128", function<double, true>);
  TH_ADD("cholesky", cusolver_cholesky)
  TH_ADD("eigh", cusolver_eigh)
  TH_ADD("svd", cusolver_svd)
  TH_ADD("lu", cusolver_lu)
  TH_ADD("reflections", cusolver_reflections)
  TH_ADD("q", cusolver_q)
#undef TH_ADD
  return out;
}

}  // namespace thtrain
