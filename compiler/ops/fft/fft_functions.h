// What programs call for transforms of Fourier (libraries/fft/fft.h).
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/linalg/library_functions.h"

/// kind 0: n2 complex numbers, of 1: n2 real ones to n2 / 2 + 1, of 2: back; arrays count x n0 x n1 x n2 x inner, along
/// n0, n1 and n2. norm 0: as it is, 1: over the root of n0 n1 n2, 2: over n0 n1 n2. T: of a part.
#define TH_FFT_PARAMETERS(T) \
  int kind, long count, long n0, long n1, long n2, long inner, int inverse, int norm, const T *in, T *out

namespace thtrain {

/// "fft_f32" or "fft_f64"; of float32 or float64.
const kernel::LibraryFunction& fft_function(DType dtype);
/// The same by cuFFT on the target, a device (libraries/device_functions.h): results are not scaled, a spectrum that
/// becomes real numbers is overwritten, and out may be in for complex numbers.
kernel::LibraryFunction cufft_function(const kernel::Target& target, DType dtype);

}  // namespace thtrain
