// Functions of one number that random programs are made of.
#pragma once

#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

struct NamedFunction {
  const char* text;  // C++; $0 stands for the argument
  Expr (*make)(const Expr&);
};

/// Functions that are harmless on all numbers, and compositions that rules look for.
const std::vector<NamedFunction>& smooth_functions();

}  // namespace thtrain
