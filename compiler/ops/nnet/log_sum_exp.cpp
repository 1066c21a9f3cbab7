#include "compiler/ops/nnet/log_sum_exp.h"

#include <algorithm>

#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr stable_log_sum_exp(const Expr& x, const std::vector<int64_t>& axes, bool keepdims, bool for_gradients) {
  const bool has_elements = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
    const Dim& length = x.dims()[static_cast<size_t>(axis)];
    return length.is_known() && !length.is(0);
  });
  const Op& extremum = has_elements ? max_op() : max_or_lowest_op();
  const Expr largest = apply(extremum, {x}, {{"axes", axes}, {"keepdims", true}});
  Expr m = switch_(isinf(largest), make_constant(Tensor(0.0).cast(x.dtype())), largest);
  if (for_gradients) m = stop_gradient(m);
  std::vector<int64_t> order;  // without the axes that go
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis)
    if (keepdims || std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  return dimshuffle(m, order) + log(sum(exp(x - m), axes, keepdims));
}

Expr logsumexp(const Operand& operand, const Axes& given, KeepDims keepdims) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = operand.expr();
  if (is_complex(x.dtype()))
    fail_build(operand.where(), "logsumexp: complex numbers have no largest one", "real numbers", value_text(x));
  if (!is_float(x.dtype())) x = cast(x, floatX());
  const std::vector<int64_t> axes = reduced_axes(given, x.rank(), "logsumexp", origin);
  return axes.empty() ? x : stable_log_sum_exp(x, axes, keepdims, true);
}

}  // namespace thtrain
