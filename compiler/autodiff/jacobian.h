// Matrices of derivatives, each row by one reverse pass in a loop, and products with the second ones.
#pragma once

#include <source_location>
#include <vector>

#include "compiler/autodiff/gradient.h"

namespace thtrain {

// ---- gradients ------------------------------------------------------------------------------------------------------

/// d output[i...] / d wrt[j...]: of the lengths of the output, then those of `wrt`. The program has one reverse pass,
/// whatever the lengths are, and runs it once for each element of the output: scan() walks them. UserError as grad, and
/// where the output is no float.
Expr jacobian(const Expr& output, const Expr& wrt, const GradOptions& options = {},
              std::source_location where = std::source_location::current());
std::vector<Expr> jacobian(const Expr& output, const std::vector<Expr>& wrt, const GradOptions& options = {},
                           std::source_location where = std::source_location::current());

/// d^2 cost / (d wrt[i...] d wrt[j...]): of the lengths of `wrt`, twice; of several variables each one's own. Zeros
/// where the gradient does not depend on it.
Expr hessian(const Expr& cost, const Expr& wrt, const GradOptions& options = {},
             std::source_location where = std::source_location::current());
std::vector<Expr> hessian(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options = {},
                          std::source_location where = std::source_location::current());

/// The product of the second derivatives by all of `wrt` with a vector, which has the types of `wrt`: forward mode over
/// the gradient, without the matrix (B. A. Pearlmutter, "Fast exact multiplication by the Hessian", 1994).
std::vector<Expr> hessian_vector_product(const Expr& cost, const std::vector<Expr>& wrt,
                                         const std::vector<Expr>& vector, const GradOptions& options = {},
                                         std::source_location where = std::source_location::current());
Expr hessian_vector_product(const Expr& cost, const Expr& wrt, const Expr& vector, const GradOptions& options = {},
                            std::source_location where = std::source_location::current());

}  // namespace thtrain
