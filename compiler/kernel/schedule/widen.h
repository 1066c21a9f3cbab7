// Scalar terms of a nest as terms of a kernel: of any number of lanes.
#pragma once

#include <functional>

#include "compiler/kernel/term.h"

namespace thtrain::kernel {

/// `term` with its variables replaced: `replace` gives a term of the same dtype and any number of lanes, or none where
/// the variable stays. What was computed from one element is then computed from a vector of them.
Term widened(const Term& term, const std::function<Term(const Term& variable)>& replace);

}  // namespace thtrain::kernel
