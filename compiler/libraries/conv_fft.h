// Convolutions by transforms of Fourier (libraries/fft/fft.h).
#pragma once

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "conv_fft_f32", "conv_fft_f64": real transforms of the planes, and products of BLAS for each frequency. Gives 0. The
/// bits depend on the arguments and BLAS.
NamedFunctions conv_fft_functions();

}  // namespace thtrain
