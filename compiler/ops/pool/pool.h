// Pooling: maxima, sums and averages of windows that move over images.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

/// What pool() makes of a window. An average divides by the number of the window's elements inside the image (kAverage)
/// or inside the padded image (kAveragePadded, where padding counts as zeros).
enum class PoolMode : uint8_t { kMax, kSum, kAverage, kAveragePadded };

/// The windows of pool(): one number, or pair, for each pooled axis.
struct PoolOptions {
  std::vector<int64_t> window;       // lengths, at least 1
  std::vector<int64_t> stride = {};  // steps from window to window, at least 1; empty: the windows'
  std::vector<std::pair<int64_t, int64_t>> padding = {};  // before and after, less than the window; empty: none
  bool ignore_border = true;                              // false: windows may stick out at the end
  PoolMode mode = PoolMode::kMax;
};

/// Pools windows of the last axes of x, as many as the window has (1 to 3). x: [..., n] or [..., n0, n1] or [..., n0,
/// n1, n2]; the leading axes stay. With v = padding before + n + padding after, window w and stride s, an axis gets the
/// length max(0, floor((v - w) / s) + 1); without ignore_border max(0, ceil((v - w) / s)) + 1, less the windows that
/// would begin behind the image. kMax: any real dtype but bool; the others: float32 and float64. Padding never is the
/// maximum. Where several elements are the maximum, the first of them in row-major order gets the derivative; a NaN in
/// the window gives NaN, and the first NaN gets the derivative. UserError where an axis is empty, or shorter than the
/// window with ignore_border, if its length is known.
Expr pool(const Operand& x, const PoolOptions& options);

/// The same with one window that is the whole image: x [..., n0, ...] of `spatial_axes` last axes gives [...]. A
/// reduction: of equal maxima each gets the derivative, and integers and bool are summed as sum() does.
Expr global_pool(const Operand& x, size_t spatial_axes, PoolMode mode);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& max_pool_op();
const Op& max_pool_gradient_op();
const Op& max_pool_pick_op();
const Op& sum_pool_op();
const Op& sum_pool_gradient_op();

}  // namespace thtrain
