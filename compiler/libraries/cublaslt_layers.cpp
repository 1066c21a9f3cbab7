// Matrix products with biases and activations by cuBLASLt.
#include "compiler/cuda/cublaslt_handle.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/linalg/library_functions.h"

namespace thtrain {
namespace {

template <class T, bool Tf32>
void call_layer(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, int trans_a, int trans_b, int has_bias,
                int relu, long m, long n, long k, const T* a, long lda, const T* b, long ldb, const T* bias, T* out,
                long count, long a_stride, long b_stride) {
  const cuda::CublasLtProduct p{.dtype = sizeof(T) == 4 ? cuda::CUDA_R_32F : cuda::CUDA_R_64F,
                                .trans_a = trans_a,
                                .trans_b = trans_b,
                                .has_bias = has_bias,
                                .relu = relu,
                                .tf32 = Tf32,
                                .m = m,
                                .n = n,
                                .k = k,
                                .lda = lda,
                                .ldb = ldb,
                                .count = count,
                                .a_stride = a_stride,
                                .b_stride = b_stride};
  libraries.cublaslt.multiply(at, p, a, b, bias, out);
}

template <class T, bool Tf32>
void cublaslt_layer(ThContext* context, const int* uses, int use_count, TH_LAYER_PARAMETERS(T)) {
  DeviceCalls::ask_library<call_layer<T, Tf32>>(context, {uses, static_cast<size_t>(use_count)}, trans_a, trans_b,
                                                has_bias, relu, m, n, k, a, lda, b, ldb, bias, out, count, a_stride,
                                                b_stride);
}

}  // namespace

NamedFunctions cublaslt_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, str("cublaslt_", name), "cuBLASLt", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<cuda::CublasLt>& {
                                  return is_emulated ? cuda::emulated::cublaslt() : cuda::math_libraries().cublaslt();
                                });
  };
  add("layer_f32", cublaslt_layer<float, false>);
  add("layer_f64", cublaslt_layer<double, false>);
  add("layer_tf32", cublaslt_layer<float, true>);
  return out;
}

}  // namespace thtrain
