// Windows that move along axes of a value, as a view, and the way back: their sum.
#pragma once

#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- images --------------------------------------------------------------------------------------------------------

/// Parts of fixed lengths along some axes of x: size[k] elements of axis axes[k], the next part step[k] further.
/// Element [..., i, ..., j] is x[..., i step + j, ...]: axes[k] has the number of whole parts, (length - size) / step +
/// 1 rounded down, and new last axes have the sizes, in the order of `axes`. A view: what is read twice is in
/// memory once. The gradient adds up the parts. UserError: an axis that is not there or named twice, a size or step
/// below 1, an axis that is shorter than its size.
Expr windows(const Operand& x, const std::vector<int64_t>& axes, const std::vector<int64_t>& sizes,
             const std::vector<int64_t>& steps);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// The transposed map: w has the shape of windows(x), and each of its elements is added to zeros of the lengths `dims`
/// of x where it would have been read.
Expr add_windows(const Operand& w, const std::vector<Dim>& dims, const std::vector<int64_t>& axes,
                 const std::vector<int64_t>& sizes, const std::vector<int64_t>& steps);

const Op& windows_op();
const Op& add_windows_op();

}  // namespace thtrain
