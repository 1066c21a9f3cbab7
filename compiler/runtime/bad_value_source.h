// What made a bad value, for people: the expression, its first bad element, and where it was built.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/base/error.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/node.h"

namespace thtrain {

/// What Mode::kNanGuard ends a call with.
class BadValueError : public UserError {
 public:
  using UserError::UserError;
};

struct BadValueSource {
  std::string expression;  // as the user would write it: without fused loops
  std::string element;     // "nan at [0, 2] of float64[4, 3]"
  std::string kind;        // "NaN", "infinity", "number that is too large"
  Origin origin;
};

/// Of this output of a node.
BadValueSource source_of(const Node& node, size_t output, const Tensor& value, int64_t position);

/// What made the bad element `position` of an output of a fused node: the first computed value on the way to it, by the
/// references of the ops, that is bad there and does not just pass on an argument or a constant. None where the
/// references make no bad element of these inputs, or the node is not fused.
std::optional<BadValueSource> source_inside(const Node& node, size_t output, int64_t position,
                                            std::span<const Tensor> inputs, const BadValues& bad);

/// The first bad one of all values that the roots need and that are computed, by the references of the ops.
std::optional<BadValueSource> source_by_reference(std::span<const Expr> roots,
                                                  const std::vector<std::pair<Expr, Tensor>>& inputs,
                                                  const BadValues& bad);

/// The expression as the user would write it: without fused loops, cut at `limit` characters.
std::string readable_text(const Expr& value, size_t limit = 120);

}  // namespace thtrain
