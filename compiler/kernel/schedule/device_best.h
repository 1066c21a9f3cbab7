// Extrema and their locations among the threads of a device.
#pragma once

#include "compiler/kernel/nest.h"

namespace thtrain::kernel {

/// An extremum and where it is; `where` is the number of elements where there is none yet.
struct Best {
  Term value, where;
};

/// Of two the one that no other is better than; Accumulation::better is asked for the earlier and the later one. `none`
/// is the number of elements.
inline Best better_of(Code& code, const Accumulation& how, const Best& a, const Best& b, const Term& none) {
  const Term takes_b =
      code.let("takes", b.where < none && (a.where == none || select(a.where < b.where, how.better(a.value, b.value),
                                                                     !how.better(b.value, a.value))));
  return {code.let("best", select(takes_b, b.value, a.value)), code.let("where", select(takes_b, b.where, a.where))};
}

}  // namespace thtrain::kernel
