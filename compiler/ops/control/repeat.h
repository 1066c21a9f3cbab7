// A loop of a fixed number of turns around a body: state in, state out.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// state = initial; `count` times: state = body(state, captures). Gives the last state. The body is a function of its
/// own input variables: it gets stand-ins for the state and for `captures` (values from outside, the same in each
/// turn). States keep their types. Reverse-mode runs the turns again, backwards, from stored states. What `body` prints
/// is printed in each turn, also where nobody reads it; turns that a derivative runs again print nothing.
std::vector<Expr> repeat(
    int64_t count, const std::vector<Expr>& initial, const std::vector<Expr>& captures,
    const std::function<std::vector<Expr>(const std::vector<Expr>& state, const std::vector<Expr>& captures)>& body);

const Op& repeat_op();

}  // namespace thtrain
