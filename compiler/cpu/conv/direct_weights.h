// The gradient of a convolution to its filters, computed directly by kernels generated for its lengths.
//
// Accumulators are `taps` taps (neighbours along a row, of one channel or several) times some filters, and stay in
// registers over a chunk of rows of the result's gradient:
//
// Over filters: vectors hold neighbouring filters (of the gradient, transposed first); the image is broadcast.
// Over rows: vectors hold neighbouring positions of a row, and are summed in the end; for few filters and long rows,
// with stride 1 along them.
//
//   for each part of all rows, block of filters, some channels           (threads share them)
//     for each chunk of rows, which stays in the caches
//       for each block of channels, row of taps, block of taps
//         sums += over the chunk's positions: taps of the image times filters of the gradient
//   the parts added, in order, and laid out as filters
//
// Where a position reads the element of the same position alone (1x1 filters, stride 1), images and gradients are
// interchangeable, and vectors hold neighbouring channels, and filters are broadcast, if channels are fewer: what
// vectors hold is transposed once for all of the other.
//
// How rows are parted follows from the lengths: the bits do not depend on the threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/cpu/conv/correlation.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

struct WeightTiling {
  bool over_filters = true;
  int taps = 1;
  int width = 1;  // vectors of filters; over rows filters

  friend bool operator==(const WeightTiling&, const WeightTiling&) = default;
};

/// "filters 6x4": taps x vectors of filters; "rows 6x4": taps x filters; and back (nullopt where it is no such name).
std::string name_of(const WeightTiling& tiling);
std::optional<WeightTiling> weight_tiling_named(std::string_view name);

/// Does it fit the registers of the target?
bool is_possible(const WeightTiling& tiling, const Convolution& c, const kernel::Target& target);
/// The images as the tiling's kernel reads them: bare are the axes whose zeros it leaves out.
Correlation images_read_by(const WeightTiling& tiling, Convolution c, const kernel::Target& target);
/// Bytes of workspace that lower_direct_weights takes.
int64_t workspace_of(const WeightTiling& tiling, const Convolution& c, const kernel::Target& target);
/// What a step of the gradient to the filters reads and writes, all row-major.
struct WeightStep {
  kernel::Operand image, dy, out;
};
/// Of a step of conv_weight_gradient.
WeightStep weight_step_of(const kernel::StepBuilder& builder);
/// Writes the step of the gradient to the filters.
void lower_direct_weights(kernel::StepBuilder& builder, const Convolution& c, const WeightStep& step,
                          const WeightTiling& tiling);

}  // namespace thtrain
