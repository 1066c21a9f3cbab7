// Random smooth functions of vectors and a matrix, through loops, branches and calls that may be written out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/ir/node.h"

namespace thtrain {

/// What such a function is of: vectors of 3 elements and a matrix [3, 3], float64.
struct SmoothPoint {
  Expr s, c, w;
};

/// A vector of 3 elements. `build` makes bodies of loops, branches and calls or, with `inlined`, the same formula
/// without bodies: loops unrolled, calls replaced by their bodies, and both sides of a branch. `text` names what it is
/// made of.
struct SmoothBody {
  std::string text;
  std::function<Expr(const SmoothPoint& at, bool inlined)> build;
};

/// `below(n)` draws a number less than n. Bodies are nested up to `depth` deep.
SmoothBody random_smooth_body(const std::function<size_t(size_t)>& below, size_t depth);

}  // namespace thtrain
