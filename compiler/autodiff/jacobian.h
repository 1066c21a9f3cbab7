// Jacobians, Hessians, and products with Hessians.
#pragma once

#include <initializer_list>
#include <vector>

#include "compiler/autodiff/gradient.h"

namespace thtrain {

// ---- gradients ------------------------------------------------------------------------------------------------------

/// dy / dx for each x of `wrt`, [lengths of y..., lengths of x...], of the dtype of x. y and x are floating values of
/// any rank. The rows are those of vjp() for each element of y, in a loop from which the passes take what is one
/// computation for all elements: the Jacobian of tanh(dot(W, x)) is one product. Each row costs a gradient of the whole
/// of y: for the gradients of single examples of a minibatch, vmap() of grad() of one example's loss is many times
/// faster (docs/semantics.md). UserError as grad().
std::vector<Expr> jacobian(const Expr& y, const std::vector<Expr>& wrt, const GradOptions& options = {},
                           std::source_location where = std::source_location::current());
inline std::vector<Expr> jacobian(const Expr& y, std::initializer_list<Expr> wrt, const GradOptions& options = {},
                                  std::source_location where = std::source_location::current()) {
  return jacobian(y, std::vector<Expr>(wrt), options, where);
}
Expr jacobian(const Expr& y, const Expr& wrt, const GradOptions& options = {},
              std::source_location where = std::source_location::current());

/// The second derivatives of a floating scalar with respect to each x of `wrt` by itself, [lengths of x..., lengths of
/// x...]: the Jacobian of its gradient. Zeros where the gradient does not depend on x. UserError as grad().
std::vector<Expr> hessian(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options = {},
                          std::source_location where = std::source_location::current());
inline std::vector<Expr> hessian(const Expr& cost, std::initializer_list<Expr> wrt, const GradOptions& options = {},
                                 std::source_location where = std::source_location::current()) {
  return hessian(cost, std::vector<Expr>(wrt), options, where);
}
Expr hessian(const Expr& cost, const Expr& wrt, const GradOptions& options = {},
             std::source_location where = std::source_location::current());

/// The Hessian of the cost with respect to all of `wrt` times `v`, of the types of `wrt`, without the Hessian: forward
/// mode through the gradient, at a few times the gradient's cost (B. Pearlmutter, "Fast exact multiplication by the
/// Hessian", Neural Computation 6(1), 1994). UserError as grad() and jvp().
std::vector<Expr> hessian_vector_product(const Expr& cost, const std::vector<Expr>& wrt, const std::vector<Expr>& v,
                                         const GradOptions& options = {},
                                         std::source_location where = std::source_location::current());
inline std::vector<Expr> hessian_vector_product(const Expr& cost, std::initializer_list<Expr> wrt,
                                                std::initializer_list<Expr> v, const GradOptions& options = {},
                                                std::source_location where = std::source_location::current()) {
  return hessian_vector_product(cost, std::vector<Expr>(wrt), std::vector<Expr>(v), options, where);
}
Expr hessian_vector_product(const Expr& cost, const Expr& wrt, const Expr& v, const GradOptions& options = {},
                            std::source_location where = std::source_location::current());

}  // namespace thtrain
