// What made a bad value, for people: the expression, its first bad element, and where it was built.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/ir/bad_values.h"
#include "compiler/ir/node.h"

namespace thtrain {

struct BadValueSource {
  std::string expression;  // as the user would write it: without fused loops
  std::string element;     // "nan at [0, 2] of float64[4, 3]"
  std::string kind;        // "NaN", "infinity", "number that is too large"
  Origin origin;
};

/// Of this output of a node.
BadValueSource source_of(const Node& node, size_t output, const Tensor& value, int64_t position);

/// The first value inside a fused node that is bad by the references of its ops; none where they make none of these
/// inputs, or the node is not fused.
std::optional<BadValueSource> source_inside(const Node& node, std::span<const Tensor> inputs, const BadValues& bad);

/// The first bad one of all values that the roots need, by the references of the ops.
std::optional<BadValueSource> source_by_reference(std::span<const Expr> roots,
                                                  const std::vector<std::pair<Expr, Tensor>>& inputs,
                                                  const BadValues& bad);

/// The expression as the user would write it: without fused loops, cut at `limit` characters.
std::string readable_text(const Expr& value, size_t limit = 120);

}  // namespace thtrain
