// Mutants of kernels: each differs from a kernel in one location, as a wrong entry of a table or a slip in a lowering
// would make it.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/statement.h"

namespace thtrain {

/// What can be wrong in this kernel, one location each, in words ("<= for <"): a primitive exchanged for a sibling, its
/// operands swapped, an addend or a sign left out, a number one larger, an element's neighbour read or written, the
/// first or the last step of a loop left out, a lane of the tail, a store or an assignment left out.
///
/// Not made: what could write outside of a buffer, divide an integer by zero or run for ever. So addresses, the limits
/// of checks and what is computed with them (all int64) stay, and so do kernels that divide integers.
std::vector<std::string> kernel_mutations(const kernel::Function& kernel);

/// Makes the mutation of that number.
void mutate_kernel(kernel::Function& kernel, size_t number);

}  // namespace thtrain
