// Lengths as the code of an entry.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/dim.h"

namespace thtrain {

/// The variables of the entry that hold lengths, by the names of these.
using LengthVariables = std::map<std::string, std::string>;

/// The value of a length, in plain arithmetic: where it is known to fit. InternalError where a name has no variable.
std::string length_code(const Dim& dim, const LengthVariables& variables);

/// The same as a ThNumber, which knows whether the arithmetic stayed within 2^63; in C99, where that has no operators,
/// by calls: th_checked_add(th_number_of(n), th_number_of(2)).
std::string checked_length_code(const Dim& dim, const LengthVariables& variables);
std::string checked_length_calls(const Dim& dim, const LengthVariables& variables);

/// Is it a number or one length, with no arithmetic?
bool cannot_overflow(const Dim& dim);

}  // namespace thtrain
