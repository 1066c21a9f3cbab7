// The functions and types that entries call.
#pragma once

#include <string>
#include <string_view>

#include "compiler/kernel/target.h"

namespace thtrain {

/// Definitions of those that the entry's text calls, and of no others: arithmetic of lengths, how a kernel is run.
std::string entry_helpers(std::string_view entry, kernel::Language language);

}  // namespace thtrain
