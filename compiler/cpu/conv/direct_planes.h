// The forward pass or the gradient to the images, for few results' channels and stride 1: rows of several filters and
// several rows of positions at a time.
//
// Vectors hold neighbouring positions of a row. Sums of `filters` filters times `rows` rows times `vectors` vectors are
// the accumulators. A vector of the image is loaded once for all filters, and for all of the rows under whose taps it
// falls; most of these loads cross a cache line, and with few filters over one row they would be what limits the
// kernel.
//
//   for each image, block of filters, band of rows                        (threads share them)
//     for each slab of channels
//       their rows under the band's taps copied into an array, with the zeros at the ends of rows
//       for each `rows` rows, each `vectors` vectors of positions
//         sums += for each channel, row of the image, tap: `vectors` vectors times the taps of `filters` filters
//     sums to the result
//
// The array stays in the first cache. Sums are in a second one between the slabs. Each element's products are added
// in the order of channels and taps, as in the other direct kernels (direct.h): the bits are theirs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/cpu/conv/correlation.h"

namespace thtrain {

struct PlanesTiling {
  int filters = 1, rows = 1, vectors = 1;

  friend bool operator==(const PlanesTiling&, const PlanesTiling&) = default;
};

/// "planes 3x2x4": filters, rows, vectors; and back (nullopt where it is no such name).
std::string name_of(const PlanesTiling& tiling);
std::optional<PlanesTiling> planes_tiling_named(std::string_view name);

/// How the lengths are cut.
struct PlanesPlan {
  int lanes;
  int64_t blocks;                           // of filters
  int64_t vectors;                          // of a row of positions
  int64_t shift, pitch;                     // of the array's rows: where padded element 0 lies; from row to row
  int64_t sums_pitch;                       // from row to row of the sums
  int64_t band, bands;                      // rows of positions of a part; a band's array has whole tiles of rows
  int64_t tall;                             // rows of a band's sums
  int64_t slab, slabs;                      // channels
  int64_t plane, planes_bytes, sums_bytes;  // elements of a channel in the array; of the arrays

  PlanesPlan(const PlanesTiling& tiling, const Correlation& c, int lanes);
};

/// One or two axes, stride 1, no dilation or zeros between elements; do registers and the stack suffice?
bool is_possible(const PlanesTiling& tiling, const Correlation& c, const kernel::Target& target,
                 bool has_epilogue = false);
/// Bytes of workspace that lower_direct_planes takes.
int64_t workspace_of(const PlanesTiling& tiling, const Correlation& c);
/// Writes the step of the forward pass or the gradient to the images, or of one that ends with an epilogue.
void lower_direct_planes(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step,
                         const PlanesTiling& tiling);

}  // namespace thtrain
