// The mathematical functions that kernels compute themselves, in terms of the loop language.
#pragma once

#include <string>

#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {

/// Is this function computed by `polynomial` on vectors of so many bytes? Others are the target library's.
bool has_polynomial(const std::string& function, int vector_bytes);

/// exp or tanh of `x`, a vector of float32 or float64, by statements added to `code`. There are no tables: loads from
/// places that differ by lane cost more than the arithmetic they save, and wait for stores that go past the caches. A
/// lane's bits depend on nothing but its own argument, so they are the same at every width. Special values are those of
/// the C standard's Annex F. How far both are from the true value, measured: docs/vector_maths.md.
Term polynomial(const std::string& function, const Term& x, Code& code);

}  // namespace thtrain::kernel
