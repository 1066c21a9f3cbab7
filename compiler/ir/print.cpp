#include "compiler/ir/print.h"

#include "compiler/base/escape.h"
#include "compiler/ir/op.h"

namespace thtrain {
namespace {

std::string ref(const Expr& e, const NodeNumbers& numbers) {
  std::string out = str("%", numbers.at(&e.node()));
  return e.node().types.size() > 1 ? str(out, ".", e.output()) : out;
}

std::string text_from(const Graph& graph, size_t first_number, int depth, const NodeNotes& notes);

// A colon at its beginning would look like the one before the type.
std::string leaf_name(const Node& node) {
  std::string name = escaped(node.name);
  return name.starts_with(':') ? "\\x3a" + name.substr(1) : name;
}

std::string leaf_text(const Node& node, size_t number, std::string_view kind) {
  return str(kind, " %", number, node.name.empty() ? "" : " ", leaf_name(node), " : ", node.types[0].text(), "\n");
}

// The node's name and its note.
std::string words_of(const Node& node, const NodeNotes& notes) {
  const std::string* note = notes.find(&node);
  const std::string name = escaped(node.name);
  if (!note || note->empty()) return name;
  return name.empty() ? *note : str(name, ", ", *note);
}

std::string line_of(const Node& node, size_t number, const NodeNumbers& numbers, int depth, const NodeNotes& notes) {
  std::string indent(static_cast<size_t>(depth) * 2, ' ');
  std::string out = str(indent, "%", number, " = ", node.op->name, "(",
                        join(node.inputs, ", ", [&](const Expr& e) { return ref(e, numbers); }), ")");
  if (!node.props.empty())
    out += str(" {", join(node.props.all(), ", ", [](const auto& p) { return str(p.first, "=", prop_text(p.second)); }),
               "}");
  if (node.recompute) out += str(" again ", node.recompute);
  out += str(" : ", join(node.types, "; ", [](const Type& t) { return t.text(); }));
  if (const std::string words = words_of(node, notes); !words.empty()) out += "  # " + words;
  out += "\n";
  for (const GraphPtr& body : node.bodies)
    out += str(indent, "  body\n", text_from(*body, number + 1, depth + 2, notes), indent, "  end\n");
  return out;
}

std::string text_from(const Graph& graph, size_t first_number, int depth, const NodeNotes& notes) {
  const std::vector<const Node*> order = text_order(graph);
  NodeNumbers numbers;
  for (size_t i = 0; i < order.size(); ++i) numbers[order[i]] = first_number + i;
  std::string out, indent(static_cast<size_t>(depth) * 2, ' ');
  for (size_t i = 0; i < order.size(); ++i) {
    const Node& node = *order[i];
    const char* kind = i < graph.inputs.size() ? "input " : node.op == &shared_op() ? "shared" : "free  ";
    const size_t number = numbers.at(&node);
    out += node.is_leaf() ? indent + leaf_text(node, number, kind) : line_of(node, number, numbers, depth, notes);
  }
  for (const Expr& e : graph.outputs) out += str(indent, "output  ", ref(e, numbers), "\n");
  for (const Update& u : graph.updates)
    out += str(indent, "update  ", ref(u.variable, numbers), " <- ", ref(u.value, numbers), "\n");
  for (const Expr& e : graph.effects) out += str(indent, "effect  ", ref(e, numbers), "\n");
  return out;
}

void nested(const Expr& value, size_t limit, std::string& out) {
  if (out.size() >= limit) return;
  const Node& node = value.node();
  if (!node.name.empty() && (!out.empty() || node.is_leaf()))
    out += escaped(node.name);
  else if (const Tensor* tensor = constant_value(value))
    out += tensor->size() <= 8 ? tensor->text() : tensor->type_text();
  else if (node.is_leaf())
    out += node.op->name;
  else {
    out += node.op->name + "(";
    for (size_t i = 0; i < node.inputs.size() && out.size() < limit; ++i) {
      if (i) out += ", ";
      nested(node.inputs[i], limit, out);
    }
    out += ")";
  }
}

}  // namespace

std::vector<const Node*> text_order(const Graph& graph) {
  std::vector<const Node*> out;
  NodeMap<bool> given;
  for (const Expr& input : graph.inputs) {
    out.push_back(&input.node());
    given[&input.node()] = true;
  }
  std::vector<Expr> roots = graph.roots();
  for (const Update& update : graph.updates) roots.push_back(update.variable);
  for (const Node* node : topological_order(roots))
    if (!given.contains(node)) out.push_back(node);
  return out;
}

std::string node_text(const Node& node, size_t number, const NodeNumbers& numbers, const NodeNotes& notes) {
  if (!node.is_leaf()) return line_of(node, number, numbers, 0, notes);
  return leaf_text(node, number, node.op == &shared_op() ? "shared" : "input ");
}

std::string graph_text(const Graph& graph) {
  return text_from(graph, 0, 0, {});
}

std::string graph_text(const Graph& graph, const NodeNotes& notes) {
  return text_from(graph, 0, 0, notes);
}

std::string expr_text(const Expr& value, size_t limit) {
  std::string out;
  nested(value, limit, out);
  if (out.size() > limit) out = out.substr(0, limit) + "...";
  return out;
}

}  // namespace thtrain
