// Values of a graph as it was built, in numbers wide enough that nothing overflows, underflows or cancels.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "tests/fuzz/wide_number.h"

namespace thtrain {

/// Floats as wide numbers, in row-major order; other dtypes as they are.
struct WideTensor {
  Shape shape;
  std::vector<Wide> elements;
  Tensor exact;
};

/// The outputs of the graph by the formulas of its ops, no op rewritten and nothing rounded to a dtype. Knows the ops
/// that costs are made of, and those of their gradients (an InternalError for others). Lengths are known.
std::vector<WideTensor> evaluate_wide(const std::vector<Expr>& outputs,
                                      const std::vector<std::pair<Expr, Tensor>>& inputs);

}  // namespace thtrain
