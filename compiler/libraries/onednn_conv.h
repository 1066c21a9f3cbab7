// Convolutions by oneDNN, where version 2 of the library is installed: candidates of the tuner, never required.
#pragma once

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "conv_onednn_f32": direct convolutions, of float32, in the layouts that the library finds best; images, filters and
/// results are copied into them and back. Gives the library's status, 0 where it succeeded. Threads share the images,
/// or the channels or filters of the result; the library's own are never used. The bits depend on the arguments,
/// context->threads and the library.
///
/// Primitives are kept until the process ends. So is the memory for copies, which all calls share: as much as the
/// largest has needed, outside of the program's arena; one call at a time uses it.
NamedFunctions onednn_conv_functions();

}  // namespace thtrain
