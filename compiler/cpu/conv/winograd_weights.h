// The gradient of a convolution of 3 x 3 taps to its filters by Winograd's transforms (winograd_transforms.h): tiles of
// the result's gradient take the role of the filters, and the gradients of the taps that of the positions.
//
//   for each part of all tiles                                             (threads share them)
//     for each chunk of tiles, m x m positions each
//       tiles of the image to V[product][tile][channel], those of the gradient to D[product][tile][filter]
//       for each product: S[product][channel][filter] += V transposed, times D
//   the parts added, in order, and transformed
//
// Where S is too large to be read again for each chunk, V and D are of all tiles, and the products between them are a
// kernel of their own, with one part.
//
// How tiles are parted follows from the lengths: the bits do not depend on the threads.
#pragma once

#include <cstdint>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// Has `c` two spatial axes of 3 taps, one group, and neither strides nor dilations? Then `tile` may be 2 or 4.
bool is_winograd_weights(const Convolution& c, int64_t tile);
/// Of every result, relative to the largest |image| times the largest sum of |dy| of a filter.
double winograd_weights_error_bound(const Convolution& c, int64_t tile);
/// Bytes of workspace that lower_winograd_weights takes.
int64_t winograd_weights_workspace(const Convolution& c, int64_t tile, const kernel::Target& target);
/// Writes the step of the gradient to the filters.
void lower_winograd_weights(kernel::StepBuilder& builder, const Convolution& c, int64_t tile);

}  // namespace thtrain
