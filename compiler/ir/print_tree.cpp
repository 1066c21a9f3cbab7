#include "compiler/ir/print_tree.h"

#include <utility>

#include "compiler/base/escape.h"
#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"

namespace thtrain {
namespace {

// "x", "tanh", "scan.1", "constant 1".
std::string name_of_value(const Expr& value) {
  const Node& node = value.node();
  if (const Tensor* tensor = constant_value(value))
    return str("constant ", tensor->size() <= 8 ? tensor->text() : tensor->type_text());
  if (node.is_leaf()) return node.name.empty() ? node.op->name : escaped(node.name);
  std::string out = node.op->name;
  if (node.types.size() > 1) out += str(".", value.output());
  return node.name.empty() ? out : str(out, " \"", escaped(node.name), "\"");
}

// In a label of Graphviz.
std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string tree_text(const Expr& value, const TreeOptions& options) {
  struct Line {
    Expr value;
    size_t level;
  };
  std::string out;
  NodeMap<bool> printed;
  std::vector<Line> rest{{value, 0}};  // the last one is printed next
  while (!rest.empty()) {
    const Line line = std::move(rest.back());
    rest.pop_back();
    const Node& node = line.value.node();
    for (size_t i = 0; i < line.level; ++i) out += i + 1 < line.level ? "| " : "|-";
    out += str(name_of_value(line.value), " : ", readable(line.value.type().text()));
    const bool has_more = !node.inputs.empty();
    const bool is_left_out = (options.depth >= 0 && line.level >= static_cast<size_t>(options.depth)) ||
                             (options.stop_on_name && !node.name.empty());
    const bool is_new = printed.try_emplace(&node, true).second;
    if (has_more) out += !is_new ? "  see above" : is_left_out ? "  ..." : "";
    out += "\n";
    if (!is_new || is_left_out) continue;
    for (size_t i = node.inputs.size(); i-- > 0;) rest.push_back({node.inputs[i], line.level + 1});
  }
  return out;
}

std::string dot_text(const std::vector<Expr>& values) {
  std::string out = "digraph {\n  node [shape=box, fontname=\"sans-serif\"];\n", arrows;
  NodeMap<size_t> numbers;
  for (const Node* node : topological_order(values)) {
    const size_t number = numbers.size();
    numbers[node] = number;
    const bool is_given = node->is_leaf() || node->op == &constant_op();
    std::string label = is_given || node->types.size() == 1 ? name_of_value(Expr(node->self.lock())) : node->op->name;
    if (is_given) label += " : " + readable(node->types[0].text());
    out += str("  n", number, " [label=", in_quotes(label), is_given ? ", shape=ellipse" : "", "];\n");
    for (const Expr& input : node->inputs)
      arrows += str("  n", numbers.at(&input.node()), " -> n", number,
                    " [label=", in_quotes(readable(input.type().text())), "];\n");
  }
  for (size_t k = 0; k < values.size(); ++k) {
    out += str("  out", k, " [label=\"output ", k, "\", shape=plaintext];\n");
    arrows += str("  n", numbers.at(&values[k].node()), " -> out", k,
                  " [label=", in_quotes(readable(values[k].type().text())), "];\n");
  }
  return out + arrows + "}\n";
}

}  // namespace thtrain
