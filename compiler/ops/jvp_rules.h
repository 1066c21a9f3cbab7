// Rules of forward mode that several ops share (Op::jvp).
#pragma once

#include <vector>

#include "compiler/ir/op.h"

namespace thtrain {

/// An op that is linear in its connected inputs taken together: the op itself of their tangents, zeros where one is
/// missing, and of the other inputs (indices) as they are.
std::vector<Expr> linear_jvp(const JvpArgs& args);
/// An op that is linear in each of its connected inputs alone: the sum, over these, of the op with the tangent instead
/// of the input.
std::vector<Expr> multilinear_jvp(const JvpArgs& args);
/// An op whose output 0 is its input 0: that input's tangent.
std::vector<Expr> passed_jvp(const JvpArgs& args);

}  // namespace thtrain
