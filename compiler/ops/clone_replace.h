// Expressions on other values, and the shapes that they have.
#pragma once

#include <source_location>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

// ---- inputs and constants -------------------------------------------------------------------------------------------

/// The same expressions of other values: copies in which each first value of a pair is its second one, everywhere, also
/// where loops and branches read it. What does not depend on one stays the value that it is. The replaced values are
/// inputs, shared variables or any values between; all pairs apply at once. UserError where the two have different
/// dtypes or ranks; other lengths are taken, where the ops take them.
std::vector<Expr> clone_replace(const std::vector<Expr>& outputs,
                                const std::vector<std::pair<Expr, Expr>>& replacements,
                                std::source_location where = std::source_location::current());
Expr clone_replace(const Expr& output, const std::vector<std::pair<Expr, Expr>>& replacements,
                   std::source_location where = std::source_location::current());

// ---- lengths --------------------------------------------------------------------------------------------------------

/// The shapes that the values have when the inputs have these: Theano's shape_of_variables, computed from the types
/// alone. UserError where a shape does not fit its input, and where a length is that of another input, is the value of
/// an integer input, or is decided by the data.
std::vector<Shape> shapes_of(const std::vector<Expr>& values, const std::vector<std::pair<Expr, Shape>>& inputs,
                             std::source_location where = std::source_location::current());

}  // namespace thtrain
