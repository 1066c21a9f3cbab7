// Terms as C++'s expressions: literals, operators, and what calls a helper of vectors.h or functions.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

std::string constant_text(const TermNode& node);

/// An operation in parentheses, or a call. functions.h says what depends on the target.
std::string term_text(const TermNode& node, const std::vector<std::string>& args, const Dialect& dialect,
                      const Target& target, Helpers& helpers);

}  // namespace thtrain::kernel::cpp
