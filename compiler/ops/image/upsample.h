// Images with more rows and columns.
#pragma once

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

}  // namespace thtrain
