#include "compiler/autodiff/jacobian.h"

#include "compiler/autodiff/differentiation.h"
#include "compiler/autodiff/forward.h"
#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

// A derivative that is differentiated again, or lies in a loop, is a value.
static void refuse_empty(const DerivativeCall& called, const GradOptions& options) {
  if (options.disconnected == Disconnected::kEmpty || options.null_gradients == NullGradients::kEmpty)
    throw UserError(
        {.what = called.what("empty derivatives are given by grad and vjp alone"),
         .expected = "Disconnected::kZero, NullGradients::kZero",
         .got = options.disconnected == Disconnected::kEmpty ? "Disconnected::kEmpty" : "NullGradients::kEmpty",
         .node = with_call("", called.name, called.origin)});
}

static std::vector<Expr> rows_of_derivatives(const DerivativeCall& called, const Expr& y, const std::vector<Expr>& wrt,
                                             const GradOptions& options) {
  require_value(y, called.what(called.end), called.where);
  refuse_empty(called, options);
  const Operand value(y, called.where);
  const Expr indices = arange(Operand(size(value), called.where));
  // Of element i it is 1 there and 0 elsewhere.
  auto cotangent_of = [&](const Expr& i) {
    InheritOrigin inherit(called.origin);
    return reshape(cast(eq(indices, i), y.dtype()), y.dims());
  };
  auto rows_of_element = [&](Expr i) {
    const Expr cotangent = cotangent_of(i);
    return derivatives_of_cotangents(called, {y}, wrt, {cotangent}, options);
  };
  const std::vector<Expr> rows =
      map(rows_of_element, {.sequences = {indices}, .name = "jacobian"}, called.where).outputs;
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k) {
    Dims dims = y.dims();
    dims.insert(dims.end(), wrt[k].dims().begin(), wrt[k].dims().end());
    out.push_back(reshape(Operand(rows[k], called.where), dims));
  }
  return out;
}

std::vector<Expr> jacobian(const Expr& y, const std::vector<Expr>& wrt, const GradOptions& options,
                           std::source_location where) {
  return rows_of_derivatives({"jacobian", "the value does not depend on", "the value", where}, y, wrt, options);
}

Expr jacobian(const Expr& y, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return jacobian(y, std::vector<Expr>{wrt}, options, where)[0];
}

// The gradient of a cost, which the call differentiates again.
static std::vector<Expr> gradients_of(const DerivativeCall& called, const Expr& cost, const std::vector<Expr>& wrt,
                                      const GradOptions& options) {
  refuse_empty(called, options);
  if (options.known_grads.empty()) require_value(cost, called.what(called.end), called.where);
  if (cost.has_value() && (!cost.type().is_scalar() || !is_float(cost.dtype())))
    throw UserError({.what = called.what("the cost must be a floating scalar"),
                     .got = readable(cost.type().text()),
                     .node = called.node(cost),
                     .config = cost.node().origin.config(),
                     .hint = "take its sum or mean first; jacobian(grad(sum(y), x), x) has the second derivatives of y "
                             "where each element of y is made of its own element of x"});
  return reverse_derivatives(called, cost, wrt, options);
}

static DerivativeCall call_of(const char* name, const std::source_location& where) {
  return {name, "the cost does not depend on", "the cost", where};
}

std::vector<Expr> hessian(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options,
                          std::source_location where) {
  const DerivativeCall called = call_of("hessian", where);
  const std::vector<Expr> gradients = gradients_of(called, cost, wrt, options);
  GradOptions of_gradients = options;
  of_gradients.disconnected = Disconnected::kZero;  // of a linear cost
  of_gradients.known_grads = {};
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k)
    out.push_back(rows_of_derivatives(called, gradients[k], {wrt[k]}, of_gradients)[0]);
  return out;
}

Expr hessian(const Expr& cost, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return hessian(cost, std::vector<Expr>{wrt}, options, where)[0];
}

std::vector<Expr> hessian_vector_product(const Expr& cost, const std::vector<Expr>& wrt, const std::vector<Expr>& v,
                                         const GradOptions& options, std::source_location where) {
  const DerivativeCall called = call_of("hessian_vector_product", where);
  return forward_derivatives(called, gradients_of(called, cost, wrt, options), wrt, v,
                             {.consider_constant = options.consider_constant, .disconnected = Disconnected::kZero});
}

Expr hessian_vector_product(const Expr& cost, const Expr& wrt, const Expr& v, const GradOptions& options,
                            std::source_location where) {
  return hessian_vector_product(cost, std::vector<Expr>{wrt}, {v}, options, where)[0];
}

}  // namespace thtrain
