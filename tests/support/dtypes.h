// Short names of dtypes, for tests that name them often.
#pragma once

#include "compiler/ir/dtype.h"

namespace thtrain {

constexpr DType k32 = DType::kFloat32, k64 = DType::kFloat64, kInt = DType::kInt64;

}  // namespace thtrain
