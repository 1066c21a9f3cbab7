// Loops of a fixed number of iterations of a body.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

// ---- control --------------------------------------------------------------------------------------------------------

/// state = initial; `count` times: state = body(state). Gives the last state. States keep their types. What `body`
/// builds is run in each iteration; what it uses from outside is computed once, before the loop. Reverse-mode keeps the
/// states of all iterations, and costs a fixed multiple of the loop itself. What `body` prints is printed in each
/// iteration, also where nobody reads it.
std::vector<Expr> repeat(int64_t count, const std::vector<Expr>& initial,
                         const std::function<std::vector<Expr>(const std::vector<Expr>& state)>& body,
                         std::source_location where = std::source_location::current());

/// What an iteration gives: the next state, and whether the loop ends with it (a bool scalar).
struct Iteration {
  std::vector<Expr> state;
  Expr done;
};
/// The last state, and the number of iterations (an int64 scalar).
struct Repeated {
  std::vector<Expr> state;
  Expr iterations;
};
/// The same until an iteration says that it was the last: at least one, at most `limit` (which is 1 or more). The
/// derivative is that of the iterations that ran; nothing is computed for the others.
Repeated repeat_until(int64_t limit, const std::vector<Expr>& initial,
                      const std::function<Iteration(const std::vector<Expr>& state)>& body,
                      std::source_location where = std::source_location::current());

}  // namespace thtrain
