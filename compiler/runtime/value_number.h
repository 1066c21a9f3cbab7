// Whether the value of a shared variable is the one that it was.
#pragma once

#include <cstdint>

#include "compiler/ir/node.h"

namespace thtrain {

/// A number that no other value has had, of this variable or another one: the same as before where nobody can have
/// written to its memory since. Functions tell of what they update by note_change().
uint64_t value_number(const SharedStorage& variable);
void note_change(SharedStorage& variable);

}  // namespace thtrain
