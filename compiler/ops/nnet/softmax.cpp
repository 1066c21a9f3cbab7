// The op of softmax; its kernel is in softmax_rows.cpp.
#include "compiler/ops/nnet/softmax.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/softmax_rows.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

const Op& softmax_op() {
  static const Op op{
      .name = "softmax",
      .doc =
          "y = exp(x - max(x)) / sum(exp(x - max(x))) along axis. x, y: the same shape; float32 or float64.\n"
          "dx = y (dy - sum(dy y)). A row that has NaN or +inf, or nothing but -inf, gives NaN.",
      .infer = infer_softmax,
      .reference = [](const ReferenceArgs& args) { return softmax_reference(args, false); },
      .error = [](const ErrorArgs& a) { return softmax_error(a, false); },
      .gradient =
          [](const GradientArgs& args) {
            const Expr &y = args.outputs[0], &dy = args.cotangent();
            return std::vector{y * (dy - sum(dy * y, softmax_axis(args.node), true))};
          },
      .lower = [](kernel::StepBuilder& b) { lower_softmax(b, false); },
      .expand = [](const Node& node, std::span<const Expr> inputs) { return expand_softmax(node, inputs[0], false); },
      .may_overwrite = {0},
      .cost = softmax_cost,
      .cases = [] { return softmax_cases(softmax_op()); }};
  return op;
}

Expr softmax(const Operand& x, int64_t axis) {
  return build_softmax(softmax_op(), x, axis);
}

}  // namespace thtrain
