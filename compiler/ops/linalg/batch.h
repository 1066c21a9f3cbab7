// The leading axes of batches of matrices.
#pragma once

#include <source_location>
#include <string_view>

#include "compiler/ir/node.h"

namespace thtrain {

/// Those of a [..., m, k] and b [..., k, n], broadcast as NumPy broadcasts them. UserError, which names the builder,
/// where two of them are known to differ, and none is 1.
Dims batch_of(const Expr& a, const Expr& b, std::string_view builder, const std::source_location& where);

}  // namespace thtrain
