// The library functions behind candidates of convolutions, by what the runtime implements (libraries/conv_patches.h,
// conv_fft.h, onednn_conv.h, device_functions.h). Images [n, c, in...], filters [f, c / groups, kernel...] and results
// [n, f, out...] are row-major. `a` and `b` are the inputs of the pass: x and w, w and dy, or x and dy.
#pragma once

#include "compiler/ops/conv/convolution.h"
#include "compiler/ops/linalg/library_functions.h"

/// ConvAxis without `after`, which may be less than it was: zeros that no tap reads.
#define TH_CONV_AXIS_PARAMETERS(axis) \
  long axis##_in, long axis##_kernel, long axis##_out, long axis##_stride, long axis##_dilation, long axis##_before
/// Convolution; axes of fewer than three are the last ones.
#define TH_CONV_PARAMETERS                                                                                        \
  int pass, long n, long c, long f, long groups, TH_CONV_AXIS_PARAMETERS(depth), TH_CONV_AXIS_PARAMETERS(height), \
      TH_CONV_AXIS_PARAMETERS(width)
#define TH_CONV_AXIS(axis)                                                                                       \
  ConvAxis {                                                                                                     \
    axis##_in, axis##_kernel, axis##_out, axis##_stride, axis##_dilation, axis##_before,                         \
        (axis##_out - 1) * axis##_stride + (axis##_kernel - 1) * axis##_dilation + 1 - axis##_in - axis##_before \
  }
/// What the parameters say, where their names are visible.
#define TH_CONV_OF_PARAMETERS(dtype)                                 \
  Convolution {                                                      \
    static_cast<ConvPass>(pass), dtype, n, c, f, groups, 3, {        \
      TH_CONV_AXIS(depth), TH_CONV_AXIS(height), TH_CONV_AXIS(width) \
    }                                                                \
  }

/// The parameters after the ThContext*. Patches of `positions` positions of a result at a time, of which `patches` has
/// room for `walkers`, one behind the other; `sums` for walkers - 1 gradients to the filters.
#define TH_CONV_PATCHES_PARAMETERS(T) \
  TH_CONV_PARAMETERS, long positions, long walkers, const T *a, const T *b, T *out, T *patches, T *sums
/// Transforms of depth_fft x height_fft x width_fft elements, for `batch` images at a time, with memory for their
/// spectra and for threads (cpu/conv/fft.cpp). has_a, has_b: are the spectra of a, b there, where 1, those of all
/// images? Then they stay as they are.
#define TH_CONV_FFT_PARAMETERS(T)                                                                                      \
  TH_CONV_PARAMETERS, long depth_fft, long height_fft, long width_fft, long batch, long has_a, long has_b, const T *a, \
      const T *b, T *out, T *of_x, T *of_w, T *of_y, T *own
#define TH_CONV_ONEDNN_PARAMETERS TH_CONV_PARAMETERS, const float *a, const float *b, float *out
/// By the algorithm of that number, or by cuDNN's first pick (-1). Where is_turned_round, the address of the filters is
/// that of the last tap of the first one, from which taps lie backwards: they are read so. After the buffers that it
/// uses; addresses are a device's.
#define TH_CONV_CUDNN_PARAMETERS(T) \
  TH_CONV_PARAMETERS, int is_turned_round, int algorithm, const T *a, const T *b, T *out

namespace thtrain {

/// "conv_patches_f32" or "conv_patches_f64".
const kernel::LibraryFunction& conv_patches_function(DType dtype);
/// "conv_fft_f32" or "conv_fft_f64"; it may fail.
const kernel::LibraryFunction& conv_fft_function(DType dtype);
/// "conv_onednn_f32"; it may fail.
const kernel::LibraryFunction& conv_onednn_function();
/// "cudnn_conv_f32" or "cudnn_conv_f64", by the math of floats; "cudnn_conv_tf32", by that of TF32. Of a device.
kernel::LibraryFunction conv_cudnn_function(const kernel::Target& target, DType dtype, bool tf32);

/// The name of the candidate that is cuDNN's first pick.
inline constexpr const char* kCudnn = "cuDNN";
/// Does cuDNN compute such convolutions? It has as many zeros before an axis as behind it.
bool has_cudnn(const Convolution& c);

}  // namespace thtrain
