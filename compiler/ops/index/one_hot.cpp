// Labels as rows of zeros with a 1.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr one_hot(const Operand& operand, const Length& n, std::optional<DType> dtype) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr labels = operand.expr();
  if (!is_int(labels.dtype()))
    fail_build(operand.where(), "one_hot: the labels are no integers", "integers from 0 to n - 1", value_text(labels),
               "cast them");
  const DType wanted = dtype.value_or(floatX());
  const DType number = is_bool(wanted) ? DType::kInt8 : wanted;
  const Dim rows = product(labels.dims());
  const Expr ones = broadcast_to(Operand(1, operand.where()).for_dtype(number), Dims{rows});
  Props props = by_row_props(Negative::kRefused);
  props.set("set", false);
  props.set("builder", std::string("one_hot"));
  Expr hot = apply(scatter_op(), {zeros({rows, n}, number), ones, reshape(labels, Dims{rows})}, std::move(props),
                   operand.where());
  Dims dims = labels.dims();
  dims.push_back(n.dim());
  return cast(reshape(hot, dims), wanted);
}

}  // namespace thtrain
