// Random costs of the kind that need stable forms: cross entropies, log-sum-exp, softplus and their kin, as users write
// them down, and inputs at extremes.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

struct RandomCost {
  Expr cost;                                    // a scalar
  std::vector<Expr> wrt;                        // x, and z where the cost reads it
  std::vector<std::pair<Expr, Tensor>> inputs;  // of wrt, targets, labels and masks
  double weight = 1;                            // the sum of the sizes of the factors of its terms
};

RandomCost random_cost(std::mt19937_64& random);

}  // namespace thtrain
