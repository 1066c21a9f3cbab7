// Terms as C++'s expressions: literals, operators, and what calls a helper of vectors.h or functions.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

std::string constant_text(const TermNode& node);

/// An operation in parentheses, or a call. `vector_bytes`: of the target's whole vector; functions.h says why.
std::string term_text(const TermNode& node, const std::vector<std::string>& args, const Dialect& dialect,
                      int vector_bytes, Helpers& helpers);

}  // namespace thtrain::kernel::cpp
