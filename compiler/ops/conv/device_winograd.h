// Winograd's convolutions of 3 x 3 taps on a device (winograd_transforms.h), with tiles of m x m positions, for each of
// the (m + 2)^2 products p a product of matrices:
//
//   forward, to the images   filters to U[p][input][output], images to V[p][input][tile]
//                            M[p][output][tile] = sum over inputs of U V, to the positions of the tiles
//   to the filters           images to V[p][channel][tile], tiles of the results' gradient to D[p][filter][tile]
//                            S[p][filter][channel] = sum over tiles of D V, the terms in parts; S to the filters
#pragma once

#include <cstdint>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// Has `c` two spatial axes of 3 taps, one group, and neither strides nor dilations? Then `tile` may be 2 or 4.
bool is_device_winograd(const Convolution& c);
/// Of every result, relative to the largest |image| (or |result's gradient|) times the largest sum of |w| of a filter;
/// of the gradient to the filters, to the largest |image| times the largest sum of |dy| of a filter.
double device_winograd_error_bound(const Convolution& c, int64_t tile);
/// Bytes of workspace that lower_device_winograd() takes.
int64_t device_winograd_workspace(const Convolution& c, int64_t tile);
/// Writes the step of a pass.
void lower_device_winograd(kernel::StepBuilder& builder, const Convolution& c, int64_t tile);

}  // namespace thtrain
