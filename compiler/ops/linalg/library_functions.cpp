#include "compiler/ops/linalg/library_functions.h"

#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

using kernel::LibraryFunction;

const LibraryFunction& gemm_function(DType dtype) {
  static const LibraryFunction f32{"gemm_f32", TH_TEXT_OF(TH_GEMM_PARAMETERS(float))};
  static const LibraryFunction f64{"gemm_f64", TH_TEXT_OF(TH_GEMM_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& batched_gemm_function(DType dtype) {
  static const LibraryFunction f32{"batched_gemm_f32", TH_TEXT_OF(TH_BATCHED_GEMM_PARAMETERS(float))};
  static const LibraryFunction f64{"batched_gemm_f64", TH_TEXT_OF(TH_BATCHED_GEMM_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& gemv_function(DType dtype) {
  static const LibraryFunction f32{"gemv_f32", TH_TEXT_OF(TH_GEMV_PARAMETERS(float))};
  static const LibraryFunction f64{"gemv_f64", TH_TEXT_OF(TH_GEMV_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& ger_function(DType dtype) {
  static const LibraryFunction f32{"ger_f32", TH_TEXT_OF(TH_GER_PARAMETERS(float))};
  static const LibraryFunction f64{"ger_f64", TH_TEXT_OF(TH_GER_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& onednn_gemm_function() {
  static const LibraryFunction f32{"onednn_f32", TH_TEXT_OF(TH_GEMM_PARAMETERS(float)), true};
  return f32;
}

LibraryFunction device_function(const kernel::Target& target, const std::string& name, const char* parameters,
                                bool joins_graph) {
  return {.name = (target.is_emulated() ? "emulated_" : "") + name,
          .parameters = parameters,
          .is_of_device = true,
          .joins_graph = joins_graph};
}

static LibraryFunction cublas_function(const kernel::Target& target, const std::string& name, DType dtype, bool tf32,
                                       const char* of_float32, const char* of_float64) {
  const bool is_float32 = real_dtype(dtype) == DType::kFloat32;
  const char* const ending = tf32                ? "tf32"
                             : is_complex(dtype) ? (is_float32 ? "c64" : "c128")
                                                 : (is_float32 ? "f32" : "f64");
  return device_function(target, str("cublas_", name, "_", ending), is_float32 ? of_float32 : of_float64, true);
}

LibraryFunction cublas_gemm_function(const kernel::Target& target, DType dtype, bool tf32) {
  return cublas_function(target, "gemm", dtype, tf32, TH_TEXT_OF(TH_GEMM_PARAMETERS(float)),
                         TH_TEXT_OF(TH_GEMM_PARAMETERS(double)));
}

LibraryFunction cublas_batched_gemm_function(const kernel::Target& target, DType dtype, bool tf32) {
  return cublas_function(target, "batched_gemm", dtype, tf32, TH_TEXT_OF(TH_BATCHED_GEMM_PARAMETERS(float)),
                         TH_TEXT_OF(TH_BATCHED_GEMM_PARAMETERS(double)));
}

LibraryFunction cublas_gemv_function(const kernel::Target& target, DType dtype) {
  return cublas_function(target, "gemv", dtype, false, TH_TEXT_OF(TH_GEMV_PARAMETERS(float)),
                         TH_TEXT_OF(TH_GEMV_PARAMETERS(double)));
}

}  // namespace thtrain
