// Winograd's convolutions of 3 x 3 taps (winograd_transforms.h): the forward pass and the gradient to the images.
//
//   filters to U[product][block of outputs][input][output of the block]
//   for each chunk of tiles, m x m positions each                             (threads share them)
//     tiles of the image to V[product][tile][input]: rows are transposed, so that vectors hold neighbouring inputs
//     for each block of outputs
//       for each product: M[product][tile][output] = V times U, with accumulators as direct.h has them over filters
//       M to the positions of the tiles, transposed on their way out
//
// Where all of U is too large to be read again for each chunk, V and M are of all tiles, and the products between them
// are a kernel of their own.
//
// Each element's products are added in the order of inputs: the bits depend on neither chunks nor threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/cpu/conv/correlation.h"

namespace thtrain {

/// "winograd 2", for tiles of 2 or 4 positions; and back (nullopt where it is no such name).
std::string name_of_winograd(int64_t tile);
std::optional<int64_t> winograd_named(std::string_view name);

/// Has `c` two spatial axes of 3 taps, one group, and neither strides nor dilations? Then `tile` may be 2 or 4.
bool is_winograd(const Correlation& c, int64_t tile);
/// Of every result, relative to the largest |image| times the largest sum of |w| of a filter.
double winograd_error_bound(const Correlation& c, int64_t tile);
/// Bytes of workspace that lower_winograd takes.
int64_t winograd_workspace(const Correlation& c, int64_t tile, const kernel::Target& target);
/// Writes the step of the forward pass or the gradient to the images, or of one that ends with more.
void lower_winograd(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t tile);

}  // namespace thtrain
