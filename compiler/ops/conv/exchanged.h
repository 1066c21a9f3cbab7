// The gradient of a convolution to its filters as a forward pass with the axes of images and channels exchanged:
//
//   dw[f, c, k] = sum over n, o of x[n, c, o stride + k dilation - before] dy[n, f, o]
//
// correlates "images" x [c, n] with "filters" dy [f, n], whose taps are places, and whose places are taps; stride and
// dilation change places. x is copied to [c, n], and the result [c, f] to [f, c].
#pragma once

#include "compiler/ops/conv/direct.h"

namespace thtrain {

/// Has `c` one group?
bool is_exchangeable(const Convolution& c);
Correlation exchanged(const Convolution& c);
/// Bytes of workspace that lower_exchanged takes.
int64_t exchanged_workspace(const Convolution& c, const DirectTiling& tiling, int vector_bytes);
/// Writes the step of the gradient to the filters.
void lower_exchanged(kernel::StepBuilder& builder, const Convolution& c, const DirectTiling& tiling);

}  // namespace thtrain
