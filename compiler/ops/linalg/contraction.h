// Sums of products over named axes: what einsum and tensordot are made of.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// A value with a name for each axis, no name twice.
struct Labelled {
  Expr value;
  std::vector<int> labels;
};

/// The axis of that name; no value where there is none.
std::optional<size_t> axis_named(const Labelled& x, int label);
/// x with its axes in the order of `labels`, which are the same names.
Labelled ordered(const Labelled& x, const std::vector<int>& labels);
/// x summed over the axes whose names are not kept.
Labelled summed(const Labelled& x, const std::vector<int>& kept);

/// The product of two values of one dtype, summed over the names that are not kept, as a matrix product where it is
/// one. Axes of one name have equal lengths, or one of them the known length 1. The axes of the result are in the order
/// of `kept`.
Labelled contract(const Labelled& a, const Labelled& b, const std::vector<int>& kept);

}  // namespace thtrain
