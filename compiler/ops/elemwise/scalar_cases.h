// Test cases of elementwise ops, made from their records.
#pragma once

#include "compiler/ir/op.h"

namespace thtrain {

/// Rows of equal shapes, broadcasting, length 0 and 1, scalars and mixed dtypes, for every dtype that `op` has.
std::vector<OpCase> scalar_cases(const Op& op);

}  // namespace thtrain
