// The ops of upsampling: images with more rows and columns, and the transposed map.
#pragma once

#include "compiler/ir/op.h"

namespace thtrain {

/// x [N, C, H, W] of floats with `ratio` times as many rows and columns: each is that of x that it belongs to, or,
/// where `is_linear`, lies between two of x as bilinear_upsampling() says.
Expr upsampled(const Expr& x, int64_t ratio, bool is_linear);
/// The transposed map: of y [N, C, H ratio, W ratio] what each element of x [N, C, H, W] has a part in; `dims` are the
/// lengths of x.
Expr downsampled(const Expr& y, const Dims& dims, int64_t ratio, bool is_linear);

const Op& upsample_op();
const Op& downsample_op();

}  // namespace thtrain
