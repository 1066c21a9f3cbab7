// A parameter of a model: a shared variable with the name that files and messages use.
#pragma once

#include <string>

#include "compiler/runtime/shared.h"

namespace thtrain {

struct Param {
  std::string name;  // "hidden/W"
  Shared variable;
  bool penalized = false;      // a weight matrix: what L1 and L2 sum over. Biases are not.
  ConfigPosition config = {};  // of the layer
  bool trained = true;         // false: no optimizer changes it

  const Expr& expr() const { return variable.expr(); }
};

}  // namespace thtrain
