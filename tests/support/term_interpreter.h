// Computes a scalar term of the loop language as C++ would, so that code can be tested without a compiler.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/tensor.h"
#include "compiler/kernel/term.h"

namespace thtrain {

/// The value of `term` (one lane, no loads) for these values of its variables. std::runtime_error where the program
/// would trap: an integer division by 0, or of the smallest integer by -1.
Tensor interpret(const kernel::Term& term, const std::map<std::string, Tensor>& variables);

}  // namespace thtrain
