// Reverse-mode differentiation by the gradient rules of the ops. Contains no op's name but add and zeros.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/operand.h"

namespace thtrain {

// ---- gradients -----------------------------------------------------------------------------------------------------

/// What grad does where the cost does not depend on a variable: see GradOptions.
enum class Disconnected { kError, kWarn, kZero, kEmpty };
/// What grad does where a derivative would pass an op without a rule for its gradient: see GradOptions.
enum class NullGradients { kError, kZero, kEmpty };

/// What grad may be told.
struct GradOptions {
  /// Values that derivatives do not go through: what they are computed from has none by them. Each is a value by
  /// itself: other results of the same loop, branch or call are no constants. One that is among `wrt` has the
  /// derivative that it has anyway, that of what is computed from it.
  std::vector<Expr> consider_constant = {};
  /// Cotangents that are given: value, and d cost / d value, of its dtype and rank. Lengths that cannot be proved equal
  /// are checked when a call begins. With them the cost may be empty.
  std::vector<std::pair<Expr, Expr>> known_grads = {};
  /// A `wrt` that the cost does not depend on: an error that names it, a warning on stderr and zeros, zeros, or an
  /// empty Expr (of grad and vjp only).
  Disconnected disconnected = Disconnected::kError;
  /// A way from a `wrt` to the cost that passes an op without a rule for its gradient: an error that names the op; the
  /// derivative without that way (zeros where there is no other); or an empty Expr (of grad and vjp only). Inside
  /// loops, branches and calls of graphs it is an error.
  NullGradients null_gradients = NullGradients::kError;
};

/// d cost / d each of `wrt`, of the types of `wrt`. The cost is a floating scalar. Linear in the graph's size.
/// Where the optimizer has a stable form of what the cost computes (softplus for log(1 + exp(x))), the gradient is a
/// stable_gradient(): that of the cost as written, and that of the stable form. docs/decisions/0009 says why.
/// UserError where the cost is no scalar, a `wrt` is an integer, or is disconnected, or where the way from a `wrt` to
/// the cost passes an op that has no rule for its gradient and does not say that it has no derivative.
std::vector<Expr> grad(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options = {},
                       std::source_location where = std::source_location::current());
inline std::vector<Expr> grad(const Expr& cost, std::initializer_list<Expr> wrt, const GradOptions& options = {},
                              std::source_location where = std::source_location::current()) {
  return grad(cost, std::vector<Expr>(wrt), options, where);
}
Expr grad(const Expr& cost, const Expr& wrt, const GradOptions& options = {},
          std::source_location where = std::source_location::current());

/// The vector-Jacobian product: cotangents of `wrt` for these cotangents of `outputs` (an empty one: none).
/// An empty result means "not connected".
std::vector<Expr> vector_jacobian(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                  std::span<const Expr> wrt, std::span<const Expr> consider_constant = {});

/// What subgraph_grad gives.
struct SubgraphGradients {
  std::vector<Expr> of_wrt, of_end;
};
/// The derivatives of a part of a graph, as for training layer by layer: of `wrt`, the variables of the part, and of
/// `end`, the values where it begins, through which no derivative goes on. `start` are the cotangents of the values
/// where the part ends, as known_grads; the cost may be in the part too, or be empty. Zeros where the part does not
/// depend on one. Given as the `start` of the part before, `end` and `of_end` go on. UserError as grad().
SubgraphGradients subgraph_grad(const std::vector<Expr>& wrt, const std::vector<Expr>& end,
                                const std::vector<std::pair<Expr, Expr>>& start, const Expr& cost = {},
                                std::source_location where = std::source_location::current());

}  // namespace thtrain
