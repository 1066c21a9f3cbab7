#include "compiler/ops/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/base/escape.h"
#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/length_condition.h"
#include "compiler/ir/op.h"

namespace thtrain {

// The checks of lengths that the data decides, as soon as these are there: references read what they say.
static void check_defined_lengths(const Node& node, const Lengths& lengths) {
  const auto is_open = [](const Expr& input) { return is_data_dependent(input.dims()); };
  if (node.op->defines || std::none_of(node.inputs.begin(), node.inputs.end(), is_open)) return;
  std::vector<LengthCheck> checks;
  node.op->infer({*node.op, node.inputs, node.props, node.bodies, node.origin, &checks});
  for (const LengthCheck& check : checks) {
    if (!is_data_dependent(check.left) && !is_data_dependent(check.right)) continue;
    const int64_t left = lengths.evaluate(check.left), right = lengths.evaluate(check.right);
    if (left != right) throw_lengths_differ(check, left, right);
  }
}

std::vector<Tensor> evaluate_node(const Node& node, std::span<const Tensor> inputs, const Lengths& lengths,
                                  const std::vector<bool>& read) {
  check_defined_lengths(node, lengths);
  const auto is_read = [&](size_t output) { return read.empty() || read[output]; };
  std::vector<Shape> shapes;
  for (size_t i = 0; i < node.types.size(); ++i) {
    shapes.push_back(lengths.evaluate(node.types[i].dims));
    if (!is_read(i) && !shapes[i].empty()) shapes[i][0] = 0;
  }
  std::function<int64_t(const std::string&)> length_of = [&](const std::string& name) { return lengths(name); };
  std::function<std::vector<Tensor>(const Graph&, std::span<const Tensor>)> run_body =
      [&](const Graph& body, std::span<const Tensor> values) {
        std::vector<std::pair<Expr, Tensor>> bound;
        for (size_t i = 0; i < body.inputs.size(); ++i) bound.emplace_back(body.inputs[i], values[i]);
        Lengths inner = lengths;
        for (const auto& [input, value] : bound) inner.bind(input, value);
        // The lengths that it defines come first, what else nobody reads comes last.
        std::vector<Expr> roots = body.effects;
        const auto others = std::stable_partition(roots.begin(), roots.end(),
                                                  [](const Expr& effect) { return effect.node().op->defines; });
        const auto first = others - roots.begin(), end = first + static_cast<std::ptrdiff_t>(body.outputs.size());
        roots.insert(others, body.outputs.begin(), body.outputs.end());
        const std::vector<Tensor> out = evaluate_with(roots, bound, inner);
        return std::vector<Tensor>(out.begin() + first, out.begin() + end);
      };
  std::vector<Tensor> out = node.op->reference({node, inputs, shapes, length_of, run_body});
  TH_CHECK(out.size() == node.types.size(), "the reference of ", node.op->name, " gives ", out.size(), " outputs");
  for (size_t i = 0; i < out.size(); ++i) {
    if (node.types[i].kind == TypeKind::kToken || !is_read(i)) continue;
    TH_CHECK(out[i].dtype() == node.types[i].dtype && out[i].shape() == shapes[i], "the reference of ", node.op->name,
             " gives ", out[i].type_text(), " where the type is ", node.types[i].text(), " = ", shape_text(shapes[i]));
  }
  return out;
}

std::vector<Tensor> evaluate_with(std::span<const Expr> outputs, std::span<const std::pair<Expr, Tensor>> inputs,
                                  const Lengths& lengths) {
  std::unordered_map<const Node*, std::vector<Tensor>> values;
  for (const auto& [input, value] : inputs) values[&input.node()] = {value.contiguous()};

  // Inputs may stand for inner values too: what lies above them is not visited.
  std::vector<const Node*> order;
  std::unordered_map<const Node*, size_t> readers;
  std::unordered_map<const Node*, std::vector<bool>> read;  // of loops and branches: the outputs that somebody reads
  auto note = [&](const Expr& value) {
    ++readers[&value.node()];
    if (!value.node().op->lower_region) return;
    std::vector<bool>& outputs_read = read[&value.node()];
    outputs_read.resize(value.node().types.size());
    outputs_read[value.output()] = true;
  };
  {
    std::unordered_map<const Node*, bool> seen;
    std::vector<std::pair<const Node*, size_t>> stack;
    for (const Expr& root : outputs) {
      note(root);
      if (seen.emplace(&root.node(), true).second) stack.emplace_back(&root.node(), 0);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (!values.count(node) && next < node->inputs.size()) {
          note(node->inputs[next]);
          const Node* input = &node->inputs[next++].node();
          if (seen.emplace(input, true).second) stack.emplace_back(input, 0);
        } else {
          order.push_back(node);
          stack.pop_back();
        }
      }
    }
  }
  Lengths own;  // those given and those that nodes define, where there are any
  const Lengths* known = &lengths;
  for (const Node* node : order) {
    if (values.count(node)) continue;
    if (node->op == &shared_op()) {
      values[node] = {node->shared->value.on_host().contiguous()};
      continue;
    }
    if (node->op == &input_op())
      throw UserError({.what = str("the input ", escaped(node->name), " has no value"), .node = node->origin.text()});
    std::vector<Tensor> arguments;
    for (const Expr& input : node->inputs) arguments.push_back(values.at(&input.node())[input.output()]);
    auto at = read.find(node);
    values[node] = evaluate_node(*node, arguments, *known, at == read.end() ? std::vector<bool>() : at->second);
    if (node->op->defines) {
      if (known != &own) own = lengths;
      known = &own;
      for (const DefinedLength& length : node->op->defines(*node))
        own.set(length.name, values[node][length.output].as_int());
    }
    for (const Expr& input : node->inputs)
      if (--readers[&input.node()] == 0) values[&input.node()].clear();
  }
  std::vector<Tensor> out;
  for (const Expr& output : outputs) out.push_back(values.at(&output.node())[output.output()]);
  return out;
}

std::vector<Tensor> evaluate(std::span<const Expr> outputs, std::span<const std::pair<Expr, Tensor>> inputs) {
  Lengths lengths;
  for (const auto& [input, value] : inputs) lengths.bind_names(input, value);
  for (const Expr& leaf : leaves_of(outputs))
    if (is_shared(leaf)) lengths.bind(leaf, leaf.node().shared->value);
  for (const auto& [input, value] : inputs) lengths.check(input, value);
  // Lengths that the data decides come first.
  std::vector<Expr> roots = definitions_of({outputs.begin(), outputs.end()});
  const auto defined = static_cast<std::ptrdiff_t>(roots.size());
  roots.insert(roots.end(), outputs.begin(), outputs.end());
  std::vector<Tensor> values = evaluate_with(roots, inputs, lengths);
  values.erase(values.begin(), values.begin() + defined);
  return values;
}

std::vector<Tensor> evaluate(const std::vector<Expr>& outputs, const std::vector<std::pair<Expr, Tensor>>& inputs) {
  return evaluate(std::span<const Expr>(outputs), std::span<const std::pair<Expr, Tensor>>(inputs));
}

}  // namespace thtrain
