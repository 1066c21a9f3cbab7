// Forward-mode differentiation: tangents of values from tangents of what they are computed from.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "compiler/autodiff/gradient.h"

namespace thtrain {

// ---- gradients ------------------------------------------------------------------------------------------------------

/// What jvp may be told.
struct JvpOptions {
  /// Values that derivatives do not go through, as GradOptions::consider_constant: the tangents of what they are
  /// computed from do not move them. One that is among `wrt` has the tangent that is given.
  std::vector<Expr> consider_constant = {};
  /// An output that depends on none of `wrt`, or a `wrt` that no output depends on: an error that names it, a warning
  /// on stderr and a tangent of zeros, zeros, or an empty Expr.
  Disconnected disconnected = Disconnected::kError;
};

/// The Jacobian-vector product: for outputs y, values x that they are computed from (`wrt`) and tangents dx of the
/// types of x, the expressions of dy = J dx, of the types of y; J is the Jacobian dy/dx. It costs two or three times as
/// much as y, however many x and y there are, and shares with y what both compute. x may be inner values; as in grad,
/// such a value stays the function of other x that it is, so that J is what grad multiplies cotangents by.
///
/// Each op's tangent comes by its own rule (Op::jvp), or else by two reverse passes over the op: its gradient J^T u is
/// linear in the cotangents u, and the gradient of <J^T u, dx> by u is J dx. Stable forms: as in grad.
/// UserError where y or x is an integer, a tangent has another type than its x, something is disconnected, or an op on
/// the way has no rule and does not say that it has no derivative. Lengths of a tangent that cannot be proved to be
/// those of x are checked when a call begins.
std::vector<Expr> jvp(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt, const std::vector<Expr>& tangents,
                      const JvpOptions& options = {}, std::source_location where = std::source_location::current());
inline std::vector<Expr> jvp(std::initializer_list<Expr> outputs, std::initializer_list<Expr> wrt,
                             std::initializer_list<Expr> tangents, const JvpOptions& options = {},
                             std::source_location where = std::source_location::current()) {
  return jvp(std::vector<Expr>(outputs), std::vector<Expr>(wrt), std::vector<Expr>(tangents), options, where);
}
Expr jvp(const Expr& output, const Expr& wrt, const Expr& tangent, const JvpOptions& options = {},
         std::source_location where = std::source_location::current());

/// The vector-Jacobian product u^T J: cotangents of `wrt`, of their types, for cotangents of the outputs, of theirs. It
/// is grad with known_grads and no cost.
std::vector<Expr> vjp(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                      const std::vector<Expr>& cotangents, const GradOptions& options = {},
                      std::source_location where = std::source_location::current());
inline std::vector<Expr> vjp(std::initializer_list<Expr> outputs, std::initializer_list<Expr> wrt,
                             std::initializer_list<Expr> cotangents, const GradOptions& options = {},
                             std::source_location where = std::source_location::current()) {
  return vjp(std::vector<Expr>(outputs), std::vector<Expr>(wrt), std::vector<Expr>(cotangents), options, where);
}
Expr vjp(const Expr& output, const Expr& wrt, const Expr& cotangent, const GradOptions& options = {},
         std::source_location where = std::source_location::current());

/// Theano's names: the right operator is jvp, the left operator is vjp.
inline std::vector<Expr> Rop(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                             const std::vector<Expr>& tangents,
                             std::source_location where = std::source_location::current()) {
  return jvp(outputs, wrt, tangents, {}, where);
}
inline std::vector<Expr> Rop(std::initializer_list<Expr> outputs, std::initializer_list<Expr> wrt,
                             std::initializer_list<Expr> tangents,
                             std::source_location where = std::source_location::current()) {
  return Rop(std::vector<Expr>(outputs), std::vector<Expr>(wrt), std::vector<Expr>(tangents), where);
}
inline Expr Rop(const Expr& output, const Expr& wrt, const Expr& tangent,
                std::source_location where = std::source_location::current()) {
  return jvp(output, wrt, tangent, {}, where);
}
inline std::vector<Expr> Lop(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                             const std::vector<Expr>& cotangents,
                             std::source_location where = std::source_location::current()) {
  return vjp(outputs, wrt, cotangents, {}, where);
}
inline std::vector<Expr> Lop(std::initializer_list<Expr> outputs, std::initializer_list<Expr> wrt,
                             std::initializer_list<Expr> cotangents,
                             std::source_location where = std::source_location::current()) {
  return Lop(std::vector<Expr>(outputs), std::vector<Expr>(wrt), std::vector<Expr>(cotangents), where);
}
inline Expr Lop(const Expr& output, const Expr& wrt, const Expr& cotangent,
                std::source_location where = std::source_location::current()) {
  return vjp(output, wrt, cotangent, {}, where);
}

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// The tangents of `outputs` for these of `wrt`, without checks and stable forms; an empty result is zero.
std::vector<Expr> jacobian_vector(std::span<const Expr> outputs, std::span<const Expr> wrt,
                                  std::span<const Expr> tangents, std::span<const Expr> consider_constant = {});

}  // namespace thtrain
