// Ops of rows along any axis.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "compiler/ops/operand.h"

namespace thtrain {

/// x with that axis as the last one; the other axes keep their order.
Expr with_last_axis(const Expr& x, size_t axis);
/// What `of_rows` makes of each row along the axis; the results lie along it. Without an axis there is one row,
/// flatten(x). UserError where there is no such axis.
Expr along_last_axis(const Operand& x, std::optional<int64_t> axis, std::string_view builder,
                     const std::function<Expr(const Expr& rows)>& of_rows);

}  // namespace thtrain
