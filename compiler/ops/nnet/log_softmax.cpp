// The op of log-softmax; its kernel is in softmax_rows.cpp.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/nnet/softmax_rows.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

const Op& log_softmax_op() {
  static const Op op{
      .name = "log_softmax",
      .doc =
          "y = (x - max(x)) - log(sum(exp(x - max(x)))) along axis. x, y: the same shape; float32 or float64.\n"
          "dx = dy - exp(y) sum(dy). A row that has NaN or +inf, or nothing but -inf, gives NaN.",
      .infer = infer_softmax,
      .reference = [](const ReferenceArgs& args) { return softmax_reference(args, true); },
      .error = [](const ErrorArgs& a) { return softmax_error(a, true); },
      .gradient =
          [](const GradientArgs& args) {
            const Expr &y = args.outputs[0], &dy = args.cotangent();
            return std::vector{dy - exp(y) * sum(dy, softmax_axis(args.node), true)};
          },
      .lower = [](kernel::StepBuilder& b) { lower_softmax(b, true); },
      .expand = [](const Node& node, std::span<const Expr> inputs) { return expand_softmax(node, inputs[0], true); },
      .may_overwrite = {0},
      .cost = softmax_cost,
      .cases = [] { return softmax_cases(log_softmax_op()); }};
  return op;
}

Expr log_softmax(const Operand& x, int64_t axis) {
  return build_softmax(log_softmax_op(), x, axis);
}

}  // namespace thtrain
