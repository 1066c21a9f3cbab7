// Images with more rows and columns.
#pragma once

#include <optional>
#include <source_location>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- images --------------------------------------------------------------------------------------------------------

/// Each element of images [N, C, H, W] as a block of `ratio` rows and columns: [N, C, H ratio, W ratio]. PyTorch's
/// interpolate(mode="nearest") by a whole factor. dtypes: any. The gradient adds up the blocks. UserError: no 4 axes, a
/// ratio below 1.
Expr nearest_upsampling(const Operand& images, int64_t ratio);

/// Images [N, C, H, W] interpolated linearly along rows and columns: [N, C, H ratio, W ratio]. Row i of the result lies
/// at (i - floor((ratio - 1) / 2)) / ratio between the rows of x; before the first and after the last one it is that
/// one. This is Theano's bilinear_upsampling: the transposed convolution with the kernel 1 - |k| / ratio, for |k| <
/// ratio, of images whose ends are repeated. For odd ratios it is PyTorch's interpolate(mode="bilinear",
/// align_corners=False), which lies at (i - (ratio - 1) / 2) / ratio; for even ones half an element of the result away
/// from it. x: float32 or float64. UserError: another dtype, no 4 axes, a ratio below 1.
Expr bilinear_upsampling(const Operand& images, int64_t ratio);

/// up / down times as many rows or columns.
struct UpsamplingRatio {
  int64_t up = 1, down = 1;
};

/// Images [N, C, H, W] interpolated linearly: every `down`-th row and column of what `up` times as many are, in lowest
/// terms: [N, C, ceil(H rows.up / rows.down), ceil(W columns.up / columns.down)]. Row i of the result lies at
/// (i down - floor((up - 1) / 2)) / up between the rows of x; before the first and after the last one it is that one.
/// Theano's frac_bilinear_upsampling. A ratio below 1 leaves rows out, and smooths nothing. x: float32 or float64.
/// UserError: another dtype, no 4 axes, a number below 1.
Expr bilinear_upsampling(const Operand& images, const UpsamplingRatio& rows, const UpsamplingRatio& columns);

/// 1, 2, ..., ratio, ..., 2, 1, as they are or divided by the ratio: the filter with which a transposed convolution of
/// that stride interpolates linearly. [2 ratio - 1] of `dtype` (none: floatX). UserError: a ratio below 1, an integer
/// dtype.
Expr bilinear_kernel_1d(int64_t ratio, bool normalize = true, std::optional<DType> dtype = {},
                        std::source_location where = std::source_location::current());
/// The products of its elements, [2 rows - 1, 2 columns - 1]: the same for rows and columns at once.
Expr bilinear_kernel_2d(int64_t rows, int64_t columns, bool normalize = true, std::optional<DType> dtype = {},
                        std::source_location where = std::source_location::current());

}  // namespace thtrain
