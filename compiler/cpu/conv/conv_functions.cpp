#include "compiler/cpu/conv/conv_functions.h"

namespace thtrain {

using kernel::LibraryFunction;

const LibraryFunction& conv_patches_function(DType dtype) {
  static const LibraryFunction f32{"conv_patches_f32", TH_TEXT_OF(TH_CONV_PATCHES_PARAMETERS(float))};
  static const LibraryFunction f64{"conv_patches_f64", TH_TEXT_OF(TH_CONV_PATCHES_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& conv_fft_function(DType dtype) {
  static const LibraryFunction f32{"conv_fft_f32", TH_TEXT_OF(TH_CONV_FFT_PARAMETERS(float)), true};
  static const LibraryFunction f64{"conv_fft_f64", TH_TEXT_OF(TH_CONV_FFT_PARAMETERS(double)), true};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const LibraryFunction& conv_onednn_function() {
  static const LibraryFunction f32{"conv_onednn_f32", TH_TEXT_OF(TH_CONV_ONEDNN_PARAMETERS), true};
  return f32;
}

LibraryFunction conv_cudnn_function(const kernel::Target& target, DType dtype, bool tf32) {
  if (dtype == DType::kFloat64)
    return device_function(target, "cudnn_conv_f64", TH_TEXT_OF(TH_CONV_CUDNN_PARAMETERS(double)), true);
  return device_function(target, tf32 ? "cudnn_conv_tf32" : "cudnn_conv_f32",
                         TH_TEXT_OF(TH_CONV_CUDNN_PARAMETERS(float)), true);
}

}  // namespace thtrain
