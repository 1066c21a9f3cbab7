// A parameter of a model: a shared variable with the name that files and messages use.
#pragma once

#include <optional>
#include <string>

#include "compiler/runtime/shared.h"

namespace thtrain {

struct Param {
  std::string name;  // "hidden/W"
  Shared variable;
  bool penalized = false;      // a weight matrix: what L1, L2, weight decay and max-norm act on. Biases are not.
  ConfigPosition config = {};  // of the layer
  bool trained = true;         // false: no optimizer changes it
  double rate_factor = 1;      // of the learning rate, for this parameter
  std::optional<double> weight_decay = {};  // of this parameter, instead of the optimizer's

  const Expr& expr() const { return variable.expr(); }
};

/// Shared variables that decide the bits of later steps, under the names that a checkpoint gives them.
using NamedState = std::vector<std::pair<std::string, Shared>>;

}  // namespace thtrain
