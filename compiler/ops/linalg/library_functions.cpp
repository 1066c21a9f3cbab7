#include "compiler/ops/linalg/library_functions.h"

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

}  // namespace thtrain
