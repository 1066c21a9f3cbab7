// Convolutions as matrix products over patches, by BLAS (cpu/conv/patches.h says which).
#pragma once

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "conv_patches_f32", "conv_patches_f64". Equal arguments and equal context->threads give equal bits. With several
/// walkers, one thread makes each product, and the bits depend on the arguments and the library alone.
NamedFunctions conv_patches_functions();

}  // namespace thtrain
