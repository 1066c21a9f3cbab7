#include "compiler/ops/iterations_rule.h"

#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr with_iterations(const Expr& in_body, const Expr& outside, const Dim& iterations, bool varies) {
  if (varies) return outside;
  Dims lengths = in_body.dims();
  lengths.insert(lengths.begin(), iterations);
  return broadcast_to(outside, lengths);
}

std::vector<Expr> with_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                  const std::vector<bool>& varies) {
  std::vector<Expr> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    out.push_back(with_iterations(node.inputs[i], inputs[i], iterations, varies[i]));
  return out;
}

static bool is_reversed(const Expr& value) {
  return value.node().op == &subtensor_op() && value.node().props.get<Ints>("steps")[0] == -1;
}

std::vector<Expr> in_one_order(std::vector<Expr> summed) {
  if (summed.size() == 2 && is_reversed(summed[0]) && !is_reversed(summed[1]))
    for (Expr& value : summed) value = flip(value, {0});
  return summed;
}

static Expr same_op(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                    const std::vector<bool>& varies) {
  return apply(*node.op, with_iterations(node, iterations, inputs, varies), node.props);
}

static Expr op_of_later_axes(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                             const std::vector<bool>& varies) {
  Props props = node.props;
  if (node.props.has("axis")) props.set("axis", node.props.get<int64_t>("axis") + 1);
  if (node.props.has("axes")) {
    Ints axes = node.props.get<Ints>("axes");
    for (int64_t& axis : axes) ++axis;
    props.set("axes", std::move(axes));
  }
  if (node.props.has("dims")) {
    Dims dims = node.props.get<Dims>("dims");
    dims.insert(dims.begin(), iterations);
    props.set("dims", std::move(dims));
  }
  return apply(*node.op, with_iterations(node, iterations, inputs, varies), std::move(props));
}

const IterationsRule kSameOpOfIterations{.all = same_op};
const IterationsRule kSameOpThatMayFail{.all = same_op, .may_fail = true};
const IterationsRule kLaterAxesOfIterations{.all = op_of_later_axes};
const IterationsRule kLaterAxesThatMayFail{.all = op_of_later_axes, .may_fail = true};

}  // namespace thtrain
