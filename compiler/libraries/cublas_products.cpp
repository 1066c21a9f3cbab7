// Matrix products and triangular equations by cuBLAS. Its matrices are stored by columns: a row-major C = A B is C^T =
// B^T A^T there.
#include <complex>

#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/linalg/library_functions.h"

namespace thtrain {
namespace {

using cuda::Cublas;

// Their type of a number whose parts are T, and their functions of it.
template <class T, bool IsComplex>
struct OfCublas;
template <>
struct OfCublas<float, false> {
  using Number = float;
  static constexpr auto kGemm = &Cublas::cublasSgemm_v2;
  static constexpr auto kOfBatch = &Cublas::cublasSgemmStridedBatched;
  static constexpr auto kTrsm = &Cublas::cublasStrsm_v2;
  static constexpr auto kGemv = &Cublas::cublasSgemv_v2;
};
template <>
struct OfCublas<double, false> {
  using Number = double;
  static constexpr auto kGemm = &Cublas::cublasDgemm_v2;
  static constexpr auto kOfBatch = &Cublas::cublasDgemmStridedBatched;
  static constexpr auto kTrsm = &Cublas::cublasDtrsm_v2;
  static constexpr auto kGemv = &Cublas::cublasDgemv_v2;
};
template <>
struct OfCublas<float, true> {
  using Number = float2;
  static constexpr auto kGemm = &Cublas::cublasCgemm_v2;
  static constexpr auto kOfBatch = &Cublas::cublasCgemmStridedBatched;
  static constexpr auto kTrsm = &Cublas::cublasCtrsm_v2;
};
template <>
struct OfCublas<double, true> {
  using Number = double2;
  static constexpr auto kGemm = &Cublas::cublasZgemm_v2;
  static constexpr auto kOfBatch = &Cublas::cublasZgemmStridedBatched;
  static constexpr auto kTrsm = &Cublas::cublasZtrsm_v2;
};

// A known factor as cuBLAS reads it, on the host.
template <class Number, class T>
struct Factor {
  explicit Factor(T value) : parts{value, T(0)} {}
  const Number* at() const { return reinterpret_cast<const Number*>(parts); }
  alignas(16) T parts[2];
};

template <class Number, class T>
Number* numbers(T* at) {
  return reinterpret_cast<Number*>(at);
}
template <class Number, class T>
const Number* numbers(const T* at) {
  return reinterpret_cast<const Number*>(at);
}

int count_of(long length) {
  TH_CHECK(length >= 0 && length <= INT_MAX, "a length of ", length, " for cuBLAS");
  return static_cast<int>(length);
}

int op_of(bool is_transposed) {
  return is_transposed ? cuda::CUBLAS_OP_T : cuda::CUBLAS_OP_N;
}

// ---- the calls, which may be captured: factors are numbers on the host

// Matrices of a batch: how many, and how many numbers from one to the next.
struct Batch {
  long count = 1, a = 0, b = 0, c = 0;
};

template <class T, bool IsComplex, bool Tf32>
void call_batched_gemm(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, int trans_a, int trans_b, long m,
                       long n, long k, T alpha, const T* a, long lda, const T* b, long ldb, T beta, T* c, long ldc,
                       Batch outer, Batch inner) {
  using Of = OfCublas<T, IsComplex>;
  using Number = typename Of::Number;
  constexpr long kParts = IsComplex ? 2 : 1;
  libraries.with_cublas(at, Tf32, [&](const Cublas& c_blas, cublasContext* handle) {
    const Factor<Number, T> left(alpha), right(beta);
    for (long i = 0; i < outer.count; ++i)
      cuda::check_math((c_blas.*Of::kOfBatch)(
                           handle, op_of(trans_b), op_of(trans_a), count_of(n), count_of(m), count_of(k), left.at(),
                           numbers<Number>(b + i * outer.b * kParts), count_of(ldb), inner.b,
                           numbers<Number>(a + i * outer.a * kParts), count_of(lda), inner.a, right.at(),
                           numbers<Number>(c + i * outer.c * kParts), count_of(ldc), inner.c, count_of(inner.count)),
                       "cublas gemmStridedBatched");
  });
}

template <class T, bool IsComplex, bool Tf32>
void call_gemm(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, int trans_a, int trans_b, long m, long n,
               long k, T alpha, const T* a, long lda, const T* b, long ldb, T beta, T* c, long ldc) {
  using Of = OfCublas<T, IsComplex>;
  using Number = typename Of::Number;
  libraries.with_cublas(at, Tf32, [&](const Cublas& c_blas, cublasContext* handle) {
    const Factor<Number, T> left(alpha), right(beta);
    cuda::check_math((c_blas.*Of::kGemm)(handle, op_of(trans_b), op_of(trans_a), count_of(n), count_of(m), count_of(k),
                                         left.at(), numbers<Number>(b), count_of(ldb), numbers<Number>(a),
                                         count_of(lda), right.at(), numbers<Number>(c), count_of(ldc)),
                     "cublas gemm");
  });
}

template <class T>
void call_gemv(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, int trans_a, long m, long n, T alpha,
               const T* a, long lda, const T* x, long incx, T beta, T* y, long incy) {
  libraries.with_cublas(at, false, [&](const Cublas& c_blas, cublasContext* handle) {
    cuda::check_math((c_blas.*OfCublas<T, false>::kGemv)(handle, op_of(!trans_a), count_of(n), count_of(m), &alpha, a,
                                                         count_of(lda), x, count_of(incx), &beta, y, count_of(incy)),
                     "cublas gemv");
  });
}

// A row-major op(A) X = B is X^T op(A)^T = B^T there.
template <class T, bool IsComplex>
void call_trsm(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, long count, long n, long k, int lower,
               int transposed, int unit, const T* a, T* b) {
  using Of = OfCublas<T, IsComplex>;
  using Number = typename Of::Number;
  constexpr long kParts = IsComplex ? 2 : 1;
  libraries.with_cublas(at, false, [&](const Cublas& c_blas, cublasContext* handle) {
    const Factor<Number, T> one(1);
    for (long i = 0; i < count; ++i)
      cuda::check_math(
          (c_blas.*Of::kTrsm)(handle, cuda::CUBLAS_SIDE_RIGHT,
                              lower ? cuda::CUBLAS_FILL_MODE_UPPER : cuda::CUBLAS_FILL_MODE_LOWER, op_of(transposed),
                              unit ? cuda::CUBLAS_DIAG_UNIT : cuda::CUBLAS_DIAG_NON_UNIT, count_of(k), count_of(n),
                              one.at(), numbers<Number>(a + i * n * n * kParts), count_of(n),
                              numbers<Number>(b + i * n * k * kParts), count_of(k)),
          "cublas trsm");
  });
}

// ---- what programs call

std::span<const int> uses_of(const int* uses, int use_count) {
  return {uses, static_cast<size_t>(use_count)};
}

template <class T, bool IsComplex, bool Tf32>
void cublas_batched_gemm(ThContext* context, const int* uses, int use_count, TH_BATCHED_GEMM_PARAMETERS(T)) {
  if (m == 0 || n == 0 || outer == 0 || inner == 0) return;
  DeviceCalls::ask_library<call_batched_gemm<T, IsComplex, Tf32>>(
      context, uses_of(uses, use_count), trans_a, trans_b, m, n, k, *alpha_at, a, lda, b, ldb,
      reads_c ? *beta_at : T(0), c, ldc, Batch{outer, a_outer, b_outer, c_outer},
      Batch{inner, a_inner, b_inner, c_inner});
}

template <class T, bool IsComplex, bool Tf32>
void cublas_gemm(ThContext* context, const int* uses, int use_count, TH_GEMM_PARAMETERS(T)) {
  if (m == 0 || n == 0) return;
  DeviceCalls::ask_library<call_gemm<T, IsComplex, Tf32>>(context, uses_of(uses, use_count), trans_a, trans_b, m, n, k,
                                                          *alpha_at, a, lda, b, ldb, reads_c ? *beta_at : T(0), c, ldc);
}

template <class T>
void cublas_gemv(ThContext* context, const int* uses, int use_count, TH_GEMV_PARAMETERS(T)) {
  if ((trans_a ? n : m) == 0) return;
  DeviceCalls::ask_library<call_gemv<T>>(context, uses_of(uses, use_count), trans_a, m, n, *alpha_at, a, lda, x, incx,
                                         reads_y ? *beta_at : T(0), y, incy);
}

template <class T, bool IsComplex>
void cublas_triangles(ThContext* context, const int* uses, int use_count, TH_DEVICE_TRIANGLES_PARAMETERS(T)) {
  DeviceCalls::ask_library<call_trsm<T, IsComplex>>(context, uses_of(uses, use_count), count, n, k, lower, transposed,
                                                    unit, a, b);
}

}  // namespace

NamedFunctions cublas_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, str("cublas_", name), "cuBLAS", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<Cublas>& {
                                  return is_emulated ? cuda::emulated::cublas() : cuda::math_libraries().cublas();
                                });
  };
  add("gemm_f32", cublas_gemm<float, false, false>);
  add("gemm_f64", cublas_gemm<double, false, false>);
  add("gemm_c64", cublas_gemm<float, true, false>);
  add("gemm_c128", cublas_gemm<double, true, false>);
  add("gemm_tf32", cublas_gemm<float, false, true>);
  add("batched_gemm_f32", cublas_batched_gemm<float, false, false>);
  add("batched_gemm_f64", cublas_batched_gemm<double, false, false>);
  add("batched_gemm_c64", cublas_batched_gemm<float, true, false>);
  add("batched_gemm_c128", cublas_batched_gemm<double, true, false>);
  add("batched_gemm_tf32", cublas_batched_gemm<float, false, true>);
  add("gemv_f32", cublas_gemv<float>);
  add("gemv_f64", cublas_gemv<double>);
  add("triangles_f32", cublas_triangles<float, false>);
  add("triangles_f64", cublas_triangles<double, false>);
  add("triangles_c64", cublas_triangles<float, true>);
  add("triangles_c128", cublas_triangles<double, true>);
  return out;
}

}  // namespace thtrain
