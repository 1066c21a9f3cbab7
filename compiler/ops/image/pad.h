// Elements around a value: a constant, or the value's own.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- images --------------------------------------------------------------------------------------------------------

/// What is put around a value along an axis, for [a b c d]: a constant; its ends (a a|a b c d|d d); its mirror image
/// without the ends themselves (c b|a b c d|c b); the value again, as if it were periodic (c d|a b c d|a b).
enum class PadMode { kConstant, kEdge, kReflect, kWrap };

/// Elements before and after an axis.
using PadWidth = std::pair<int64_t, int64_t>;

/// x with elements added around its last axes, `widths` of each, in the order of the axes: {{1, 1}, {2, 2}} is a row
/// above and below and two columns on either side. As NumPy's pad; `value` is that of kConstant. dtypes: any, which
/// must hold the value. The gradient adds up what came from one element. UserError: more widths than axes, a negative
/// width, and, in the other modes, an axis that is too short: kEdge needs an element, kReflect one more than each
/// width, kWrap as many as each width.
Expr pad(const Operand& x, const std::vector<PadWidth>& widths, PadMode mode = PadMode::kConstant, double value = 0);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& pad_op();

}  // namespace thtrain
