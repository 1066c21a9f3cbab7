#include "compiler/ops/jvp_rules.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::vector<Expr> on_other_inputs(const Node& node, std::vector<Expr> inputs) {
  return outputs_of(*make_node(*node.op, std::move(inputs), node.props, node.bodies));
}

}  // namespace

std::vector<Expr> linear_jvp(const JvpArgs& args) {
  const Node& node = args.node;
  std::vector<Expr> inputs = node.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.op->connection && !node.op->connection(node, i, 0)) continue;
    inputs[i] = args.tangents[i].has_value() ? args.tangents[i] : zeros_like(inputs[i]);
  }
  return on_other_inputs(node, std::move(inputs));
}

std::vector<Expr> multilinear_jvp(const JvpArgs& args) {
  const Node& node = args.node;
  std::vector<Expr> out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!args.tangents[i].has_value()) continue;
    std::vector<Expr> inputs = node.inputs;
    inputs[i] = args.tangents[i];
    const std::vector<Expr> terms = on_other_inputs(node, std::move(inputs));
    for (size_t o = 0; o < out.size(); ++o) out[o] = add(out[o], terms[o]);
    if (out.empty()) out = terms;
  }
  return out;
}

std::vector<Expr> passed_jvp(const JvpArgs& args) {
  std::vector<Expr> out(args.node.types.size());
  out[0] = args.tangents[0];
  return out;
}

}  // namespace thtrain
