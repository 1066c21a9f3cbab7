#include "compiler/autodiff/jacobian.h"

#include "compiler/autodiff/forward.h"
#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

std::vector<Expr> jacobian(const Expr& y, const std::vector<Expr>& wrt, const GradOptions& options,
                           std::source_location where) {
  require_value(y, "jacobian: the value", where);
  const Expr places = arange(size(y));
  // Of element i the cotangent is 1 there and 0 elsewhere.
  auto rows_of_element = [&](Expr i) {
    const Expr cotangent = reshape(cast(eq(places, i), y.dtype()), y.dims());
    return vjp(std::vector<Expr>{y}, wrt, {cotangent}, options, where);
  };
  const std::vector<Expr> rows = map(rows_of_element, {.sequences = {places}, .name = "jacobian"}, where).outputs;
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k) {
    Dims dims = y.dims();
    dims.insert(dims.end(), wrt[k].dims().begin(), wrt[k].dims().end());
    out.push_back(reshape(rows[k], dims));
  }
  return out;
}

Expr jacobian(const Expr& y, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return jacobian(y, std::vector<Expr>{wrt}, options, where)[0];
}

// The gradient of a cost, which `who` differentiates again.
static std::vector<Expr> gradients_of(const char* who, const Expr& cost, const std::vector<Expr>& wrt,
                                      const GradOptions& options, const std::source_location& where) {
  if (cost.has_value() && (!cost.type().is_scalar() || !is_float(cost.dtype())))
    throw UserError({.what = str(who, ": the cost must be a floating scalar"),
                     .got = readable(cost.type().text()),
                     .node = cost.node().origin.text(),
                     .config = cost.node().origin.config(),
                     .hint = "take its sum or mean first; jacobian(grad(sum(y), x), x) has the second derivatives of y "
                             "where each element of y is made of its own element of x"});
  return grad(cost, wrt, options, where);
}

std::vector<Expr> hessian(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options,
                          std::source_location where) {
  const std::vector<Expr> gradients = gradients_of("hessian", cost, wrt, options, where);
  GradOptions of_gradients = options;
  of_gradients.disconnected = Disconnected::kZero;  // of a linear cost
  of_gradients.known_grads = {};
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k) out.push_back(jacobian(gradients[k], wrt[k], of_gradients, where));
  return out;
}

Expr hessian(const Expr& cost, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return hessian(cost, std::vector<Expr>{wrt}, options, where)[0];
}

std::vector<Expr> hessian_vector_product(const Expr& cost, const std::vector<Expr>& wrt, const std::vector<Expr>& v,
                                         const GradOptions& options, std::source_location where) {
  return jvp(gradients_of("hessian_vector_product", cost, wrt, options, where), wrt, v,
             {.consider_constant = options.consider_constant, .disconnected = Disconnected::kZero}, where);
}

Expr hessian_vector_product(const Expr& cost, const Expr& wrt, const Expr& v, const GradOptions& options,
                            std::source_location where) {
  return hessian_vector_product(cost, std::vector<Expr>{wrt}, {v}, options, where)[0];
}

}  // namespace thtrain
