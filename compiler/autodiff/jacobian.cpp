#include "compiler/autodiff/jacobian.h"

#include "compiler/autodiff/forward.h"
#include "compiler/ops/control/scan.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Dim elements_of(const Dims& dims) {
  Dim out = 1;
  for (const Dim& dim : dims) out = out * dim;
  return out;
}

}  // namespace

std::vector<Expr> jacobian(const Expr& output, const std::vector<Expr>& wrt, const GradOptions& options,
                           std::source_location where) {
  require_value(output, "jacobian: the output", where);
  const Dims& dims = output.dims();
  const Dim rows = elements_of(dims);
  // The cotangent of one element of the output after the other.
  auto row = [&](Expr i) {
    return vjp(std::vector<Expr>{output}, wrt, {reshape(one_hot(i, rows, output.dtype()), dims)}, options, where);
  };
  const std::vector<Expr> made = scan(row, {.sequences = {arange(size(output))}, .name = "jacobian"}, where).outputs;
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k) {
    Dims all = dims;
    all.insert(all.end(), wrt[k].dims().begin(), wrt[k].dims().end());
    out.push_back(reshape(made[k], all));
  }
  return out;
}

Expr jacobian(const Expr& output, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return jacobian(output, std::vector<Expr>{wrt}, options, where)[0];
}

std::vector<Expr> hessian(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options,
                          std::source_location where) {
  const std::vector<Expr> first = grad(cost, wrt, options, where);
  GradOptions second = options;
  second.disconnected = Disconnected::kZero;  // of a linear cost
  second.known_grads = {};
  std::vector<Expr> out;
  for (size_t k = 0; k < wrt.size(); ++k) out.push_back(jacobian(first[k], wrt[k], second, where));
  return out;
}

Expr hessian(const Expr& cost, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return hessian(cost, std::vector<Expr>{wrt}, options, where)[0];
}

std::vector<Expr> hessian_vector_product(const Expr& cost, const std::vector<Expr>& wrt,
                                         const std::vector<Expr>& vector, const GradOptions& options,
                                         std::source_location where) {
  return jvp(grad(cost, wrt, options, where), wrt, vector,
             {.consider_constant = options.consider_constant, .disconnected = Disconnected::kZero}, where);
}

Expr hessian_vector_product(const Expr& cost, const Expr& wrt, const Expr& vector, const GradOptions& options,
                            std::source_location where) {
  return hessian_vector_product(cost, std::vector<Expr>{wrt}, std::vector<Expr>{vector}, options, where)[0];
}

}  // namespace thtrain
