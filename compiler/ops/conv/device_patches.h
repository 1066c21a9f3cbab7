// Convolutions on a device as products of matrices, of which one factor are patches: nobody writes them, as the
// product's loads compute where they lie. Slabs of 16 terms are in shared memory.
//
//   forward          y[f, (n, o)] = sum over (c, k) of w[f, (c, k)] x[(n, o), (c, k)]
//   to the images    x[c, (n, i)] = sum over (f, k) of w[c, (f, k)] y[(n, i), (f, k)], where a tap reads the pixel
//   to the filters   w[f, (c, k)] = sum over (n, o) of y[f, (n, o)] x[(n, o), (c, k)], the terms in parts
#pragma once

#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/ops/conv/device_conv.h"

namespace thtrain {

/// Tilings within `factor` of the one that is taken without measurements, which is the first.
std::vector<kernel::DeviceTiling> patch_tilings(const Convolution& c, const kernel::Target& target, double factor = 1);
/// Bytes of workspace that lower_patch_product() takes: results of parts.
int64_t patch_workspace(const Convolution& c);
/// Writes the step of a pass.
void lower_patch_product(kernel::StepBuilder& builder, const Convolution& c, const kernel::DeviceTiling& tiling);

/// out = the sums of in [parts, elements of out], of which each is a result of its own.
void add_parts(kernel::StepBuilder& builder, const kernel::Operand& in, int64_t parts, const kernel::Operand& out);
/// Into how many parts the terms of `count` products are cut, which follows from their lengths: into more than one
/// where there are fewer than 256 squares of 64 x 64 results, each of at least 512 terms.
int64_t parts_of_terms(const PatchProduct& product, int64_t count);

}  // namespace thtrain
