// Random expressions with loops and branches in each other.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/node.h"

namespace thtrain {

/// An expression of two values s and c of one floating type, which has that type too. `text` is its C++.
struct RandomBody {
  std::string text;
  std::function<Expr(const Expr& s, const Expr& c)> build;
};

/// `below(n)` draws a number less than n. Loops and branches are nested up to `depth` deep.
RandomBody random_body(const std::function<size_t(size_t)>& below, size_t depth);
/// The same with prints in it, some of which nobody reads. Their labels are numbers, from `label` on.
RandomBody random_printing_body(const std::function<size_t(size_t)>& below, size_t depth, int& label);

}  // namespace thtrain
