#include "reports/explain/node_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ops/evaluate.h"
#include "reports/json.h"

namespace thtrain {
namespace {

std::string number_list(const Tensor& dense, int64_t first, int64_t count) {
  std::string out = "[";
  for (int64_t j = 0; j < count; ++j) out += str(j > 0 ? "," : "", json_number(dense.as_double(first + j)));
  return out + "]";
}

// The first rows of the last two axes, at index 0 of the others.
std::string corner_of(const Tensor& dense) {
  const size_t rank = dense.rank();
  const int64_t columns = rank > 0 ? dense.dim(rank - 1) : 1, rows = rank > 1 ? dense.dim(rank - 2) : 1;
  std::string out = "[";
  for (int64_t i = 0; i < std::min(rows, NodeValues::kCorner); ++i)
    out += str(i > 0 ? "," : "", number_list(dense, i * columns, std::min(columns, NodeValues::kCorner)));
  return out + "]";
}

std::string summary_of(const Tensor& value) {
  JsonObject out;
  out.add("type", value.type_text());
  if (is_complex(value.dtype()) || value.size() == 0) return out.line();
  const Tensor dense = value.contiguous();
  double least = std::numeric_limits<double>::infinity(), largest = -least, sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < dense.size(); ++i) {
    const double number = dense.as_double(i);
    if (!std::isfinite(number)) continue;
    ++finite;
    sum += number;
    least = std::min(least, number);
    largest = std::max(largest, number);
  }
  if (finite > 0) out.add("least", least).add("largest", largest).add("mean", sum / static_cast<double>(finite));
  return out.add("bad", dense.size() - finite).add_raw("rows", corner_of(dense)).line();
}

Lengths lengths_of(const Graph& graph, std::span<const Tensor> inputs) {
  Lengths out;
  for (size_t i = 0; i < inputs.size(); ++i) out.bind_names(graph.inputs[i], inputs[i]);
  for (const Expr& leaf : shared_leaves(graph)) out.bind(leaf, leaf.node().shared->value);
  return out;
}

// Nothing where a check of the program fails on this minibatch.
std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> operands, const Lengths& lengths) {
  try {
    return evaluate_node(node, operands, lengths);
  } catch (const UserError&) {
    return {};
  }
}

bool can_be_computed(const Node& node) {
  return std::none_of(node.types.begin(), node.types.end(),
                      [](const Type& type) { return type.kind == TypeKind::kToken; });
}

}  // namespace

std::optional<std::string> NodeValues::why_none(const Graph& graph, std::span<const Tensor> inputs) {
  if (graph.inputs.size() != inputs.size()) return "the function does not take a minibatch as it is";
  const std::vector<Expr> roots = graph.roots();
  try {
    const Lengths lengths = lengths_of(graph, inputs);
    double operations = 0, bytes = 0;
    for (const Node* node : topological_order(roots)) {
      if (node->op->cost) operations += static_cast<double>(lengths.evaluate(node->op->cost(*node).flops));
      for (const Type& type : node->types) {
        double elements = 1;
        for (int64_t length : lengths.evaluate(type.dims)) elements *= static_cast<double>(length);
        if (!node->is_leaf()) bytes += elements * static_cast<double>(size_of(type.dtype));
      }
    }
    if (operations > kMostOperations)
      return str("a minibatch needs ", json_fixed(operations / 1e6, 0), " million operations, and at most ",
                 json_fixed(kMostOperations / 1e6, 0), " million are done for this page");
    if (bytes > kMostBytes)
      return str("a minibatch needs ", bytes_text(bytes), ", and at most ", bytes_text(kMostBytes),
                 " are used for this page");
  } catch (const Error&) {  // lengths that the data decides
    return "the lengths of some are known only while they are computed";
  }
  return {};
}

NodeValues::NodeValues(const Graph& given, std::span<const Tensor> inputs) : lengths_(lengths_of(given, inputs)) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    value_[&given.inputs[i].node()] = values_.size();
    values_.push_back({{inputs[i].contiguous()}, str('[', summary_of(inputs[i]), ']')});
  }
  add(given);
}

void NodeValues::add(const Graph& graph) {
  graphs_.push_back(graph);
  for (const Node* node : text_order(graph))
    if (!value_.contains(node)) {
      const size_t value = value_of(*node);
      value_[node] = value;
    }
}

// Of a node whose operands have values.
size_t NodeValues::value_of(const Node& node) {
  const bool is_variable = node.is_leaf() && !is_constant(node[0]);  // met once
  std::string key = is_variable ? str("variable ", values_.size()) : node_text(node, 0, value_);
  if (auto found = known_.find(key); found != known_.end()) return found->second;
  Value value;
  std::vector<Tensor> operands;
  bool is_known = can_be_computed(node);
  for (const Expr& input : node.inputs) {
    const Value& of_input = values_[value_.at(&input.node())];
    is_known = is_known && !of_input.tensors.empty();
    if (is_known) operands.push_back(of_input.tensors[input.output()]);
  }
  if (node.op == &shared_op())
    value.tensors = {node.shared->value.on_host().contiguous()};
  else if (is_known && node.op != &input_op())
    value.tensors = evaluated(node, operands, lengths_);
  for (const Tensor& tensor : value.tensors) value.json += str(value.json.empty() ? "" : ",", summary_of(tensor));
  value.json = str('[', value.json, ']');
  values_.push_back(std::move(value));
  known_[std::move(key)] = values_.size() - 1;
  return values_.size() - 1;
}

std::string NodeValues::json_of(const Node& node) const {
  const size_t* value = value_.find(&node);
  return value ? values_[*value].json : "[]";
}

}  // namespace thtrain
