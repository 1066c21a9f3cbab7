#include "nn/minibatch_sum.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ops/error_rules.h"

namespace thtrain {

namespace {

thread_local ShardMeeting* meeting = nullptr;

std::vector<Type> infer_sum(const TypeArgs& args) {
  args.require(args.inputs.size() == 1, "there is not one value");
  args.require(is_float(args.type(0).dtype), "the value is no float", "float32 or float64");
  return {args.type(0)};
}

std::vector<Tensor> reference_sum(const ReferenceArgs& args) {
  TH_CHECK(meeting, "a sum over shards outside of a step in shards");
  return {meeting->sum_of(args.node.props.get<std::string>("name"), args.inputs[0])};
}

std::vector<Expr> gradient_of_sum(const GradientArgs& args) {
  return {minibatch_sum(args.cotangent(), "gradient of " + args.node.props.get<std::string>("name"))};
}

const Op& minibatch_sum_op() {
  static const Op op{.name = "minibatch_sum",
                     .doc = "The sum of x over the shards of a minibatch.",
                     .infer = infer_sum,
                     .reference = reference_sum,
                     .error = unknown_errors,
                     .gradient = gradient_of_sum,
                     .calls_reference = true,
                     .foldable = false};
  return op;
}

}  // namespace

ShardMeetingScope::ShardMeetingScope(ShardMeeting& in) : outer_(std::exchange(meeting, &in)) {}
ShardMeetingScope::~ShardMeetingScope() {
  meeting = outer_;
}

Expr minibatch_sum(const Operand& x, const std::string& name) {
  return apply(minibatch_sum_op(), {x.expr()}, {{"name", name}, {"version", std::string("1")}}, x.where());
}

bool needs_minibatch_sum(const std::vector<Expr>& values) {
  const std::vector<const Node*> nodes = topological_order(values);
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->op == &minibatch_sum_op(); });
}

}  // namespace thtrain
