// Convolutions computed directly, without patches or transforms, by kernels generated for their lengths.
//
// Over filters: vectors hold neighbouring filters. `tile` positions of a row and `vectors` vectors of filters are
// accumulators that stay in registers over all channels and taps; an element of the image is broadcast. For many
// filters and any strides. Sums of some rows are in a small array, and are transposed on their way out.
//
//   for each image, block of filters, block of rows                      (threads share them)
//     for each slab of channels, whose filters stay in the first cache
//       for each row, each tile of positions
//         sums += for each channel, tap: broadcast of `tile` elements times `vectors` vectors of filters
//     sums, transposed, to the result
//
// Over rows: vectors hold neighbouring positions of a row. `tile` filters and `vectors` vectors of positions are the
// accumulators; an element of a filter is broadcast. For few filters or channels and long rows, with stride 1 along
// them.
//
// With an epilogue the sums of some rows are in such an array in both forms, and go from there to the epilogue, which
// is written once for all of their vectors. So do sums that are pooled: the windows of some rows go from there to a
// second array, and from that to the result or to the epilogue. Parts whose windows share rows compute those twice.
//
// Each element's products are added in the order of channels and taps: the bits depend on neither tile nor threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/cpu/conv/correlation.h"

namespace thtrain {

/// Planes that processors follow by themselves: of more, kernels fetch rows ahead.
constexpr int64_t kFewStreams = 8;

struct DirectTiling {
  bool over_filters = true;
  int tile = 1;     // positions, or over rows filters
  int vectors = 1;  // of filters, or over rows of positions

  friend bool operator==(const DirectTiling&, const DirectTiling&) = default;
};

/// "filters 6x4", "rows 6x4"; and back (nullopt where it is no such name).
std::string name_of(const DirectTiling& tiling);
std::optional<DirectTiling> direct_tiling_named(std::string_view name);

/// Does it fit the registers of the target, and do its local arrays fit the stack?
bool is_possible(const DirectTiling& tiling, const Correlation& c, const kernel::Target& target,
                 bool has_epilogue = false, const PositionWindows* windows = nullptr);
/// The correlation with the axes bare whose zeros the tiling's kernel leaves out; and where an element is all that a
/// position reads (`may_merge`), with rows of another length, which the tiling fills better.
Correlation correlation_read_by(const DirectTiling& tiling, Correlation c, const kernel::Target& target,
                                bool may_merge = true);
/// Of the rows of positions, how many a step with these windows computes: above 1 where windows of several parts share
/// rows.
double rows_computed(const DirectTiling& tiling, const Correlation& c, const kernel::Target& target,
                     const PositionWindows& windows);
/// Bytes of workspace that lower_direct takes.
int64_t workspace_of(const DirectTiling& tiling, const Correlation& c, const kernel::Target& target);
/// Writes the step of the forward pass or the gradient to the images, or of one that ends with more.
void lower_direct(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step,
                  const DirectTiling& tiling);

}  // namespace thtrain
