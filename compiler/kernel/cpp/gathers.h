// Loads by a vector of indices in C++, and lanes of pairs: what complex numbers and gathers need.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

/// buffer[index], lane by lane or by the target's instructions. Lanes that do not exist read nothing.
std::string gather_text(const TermNode& gather, const std::vector<std::string>& args, Helpers& helpers);
/// Even and odd lanes of two vectors, and their lanes in turn.
std::string pairs_text(const TermNode& pairs, const std::vector<std::string>& args);
/// The same bits as another dtype of the same size.
std::string bit_cast_text(const TermNode& cast, const std::string& value, Helpers& helpers);

}  // namespace thtrain::kernel::cpp
