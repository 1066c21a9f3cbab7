// Test cases of ops that are made by fusion.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/elemwise/fused.h"

namespace thtrain {

/// A body as a table of examples has it.
struct FusedExample {
  std::string name;
  std::vector<Dims> inputs;
  std::vector<Expr> (*build)(const std::vector<Expr>& inputs);
};

/// The examples as cases of the op that `make` makes, in float32 and float64; what else a case says is as in `like`.
/// The examples must live on.
std::vector<OpCase> fused_cases(std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs),
                                const std::vector<FusedExample>& examples, const OpCase& like);

}  // namespace thtrain
