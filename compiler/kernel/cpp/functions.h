// Functions of numbers in C++: those of one or few instructions, and the mathematical ones. x86 vectors compute exp and
// tanh themselves (vector_maths.h) and call libmvec's entry points for others; other processors call libm lane by lane.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

/// One instruction for each lane: "sqrt", "fma", ... of the compiler's builtins.
std::string lanewise_text(const char* function, const TermNode& node, const std::vector<std::string>& args,
                          Helpers& helpers);
/// A selection that is the lesser or the greater of two floats (the second one, where neither is); "" for any other.
std::string extremum_text(const TermNode& select, const std::vector<std::string>& args, Helpers& helpers);
/// args[0] times 2 to the power args[1].
std::string scale_text(const TermNode& node, const std::vector<std::string>& args, Helpers& helpers);

/// By the target's whole vectors. `dialect` prints the polynomials.
std::string math_text(const TermNode& node, const std::vector<std::string>& args, const Dialect& dialect,
                      const Target& target, Helpers& helpers);

}  // namespace thtrain::kernel::cpp
