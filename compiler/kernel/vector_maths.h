// The mathematical functions that kernels compute themselves, in terms of the loop language.
#pragma once

#include <string>

#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {

/// Does `polynomial` compute this function for the target? Others are its library's.
bool has_polynomial(const std::string& function, const Target& target);

/// exp or tanh of `x`, a vector of float32 or float64, by a polynomial; its statements are added to `code`. There are
/// no tables: gathers cost more than the arithmetic they save, and wait for non-temporal stores. A lane's bits depend
/// on its own argument alone, so they are the same at every width. Special values are those of the C standard's Annex
/// F. Measured errors of both: docs/vector_maths.md.
Term polynomial(const std::string& function, const Term& x, Code& code);

}  // namespace thtrain::kernel
