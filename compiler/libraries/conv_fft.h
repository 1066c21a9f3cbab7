// Convolutions by the transforms of FFTW, where the user has installed it. FFTW is under the GPL: it is never linked
// or required, and opened at run time (libfftw3f.so.3, libfftw3.so.3).
#pragma once

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "conv_fft_f32", "conv_fft_f64": by the library's estimated plans, which depend on the lengths alone, and BLAS. Gives
/// 0, or 1 where the library made no plan. The bits depend on the arguments and the two libraries.
NamedFunctions conv_fft_functions();

}  // namespace thtrain
