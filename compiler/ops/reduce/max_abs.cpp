#include "compiler/ops/reduce/max_abs.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {
namespace {

using kernel::Term;

// `a` is an accumulator: it is not negative.
Term larger(Term a, Term b) {
  return kernel::extremum(true, a, kernel::unary(kernel::Prim::kFabs, b));
}

void largest(DType element, const void* elements, int64_t n, void* result) {
  visit(element, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* x = static_cast<const T*>(elements);
      T found = 0;
      for (int64_t i = 0; i < n; ++i)
        if (std::abs(x[i]) > found || x[i] != x[i]) found = std::abs(x[i]);
      *static_cast<T*>(result) = found;
    }
  });
}

Expr gradient(const Expr& x, const Expr& y, const Expr& dy, const Ints&) {
  return switch_(logical_or(eq(abs(x), y), isnan(x)), dy * sign(x), Operand(0).for_dtype(x.dtype()));
}

// It moves no farther than the element that moves most.
std::vector<Tensor> error_max_abs(const ErrorArgs& a) {
  const Expr moved = make_input({.dtype = DType::kFloat64, .dims = a.node.inputs[0].dims()}, "e");
  return {a.evaluate(apply(max_abs_op(), {moved}, a.node.props).node(), std::vector{a.errors[0]})[0]};
}

}  // namespace

const Op& max_abs_op() {
  static const Reduction record{
      .name = "max_abs",
      .doc =
          "The largest absolute value of x over axes.\n"
          "Gradient: dx = dy sign(x) at every element that has it (or is NaN), 0 elsewhere.\n"
          "Edge cases: NaN where one is NaN; 0 without elements.\n"
          "Example: of [-3, 2]: 3",
      .dtype = [](DType dtype) { return is_float(dtype) ? std::optional(dtype) : std::nullopt; },
      .identity = [](DType dtype) { return kernel::constant(dtype, 0); },
      .combine = larger,
      .lanes = "max",
      .reference = largest,
      .gradient = gradient,
      .error = error_max_abs};
  static const Op op = define_reduction(record, max_abs_op);
  return op;
}

Expr max_abs(const Operand& operand, const Axes& axes, KeepDims keepdims) {
  const Expr x = operand.expr();
  Ints sorted = reduced_axes(axes, x.rank(), "max_abs", Origin::here(operand.where()));
  return apply(max_abs_op(), {x}, {{"axes", std::move(sorted)}, {"keepdims", static_cast<bool>(keepdims)}},
               operand.where());
}

}  // namespace thtrain
