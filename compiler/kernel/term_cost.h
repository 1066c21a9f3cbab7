// What the primitives of the loop language cost: one table, for the profile and for the shares of threads.
#pragma once

#include <span>

#include "compiler/kernel/term.h"

namespace thtrain::kernel {

struct PrimCost {
  int flops;  // arithmetic and comparisons, as the profile counts them
  int work;   // in simple operations, as a thread's share is measured: operands, casts and choices count too
};

/// A function of the target's table counts as kMathCost, whichever it is; a multiply-add is two flops.
inline constexpr int kMathCost = 16;
PrimCost cost_of(Prim prim);

/// Flops of code with these results: a term that is used again is computed once.
int64_t flops_of(std::span<const Term> results);
/// Work of code with these results. A term counts at each of its uses; at most 2^40 for each result.
int64_t work_of(std::span<const Term> results);

}  // namespace thtrain::kernel
