#include "compiler/ir/print.h"

#include <unordered_map>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

class Printer {
 public:
  std::string graph(const Graph& g, int depth) {
    std::unordered_map<const Node*, size_t> outer = numbers_;
    size_t outer_next = next_;
    std::string out, indent(static_cast<size_t>(depth) * 2, ' ');
    auto leaf = [&](std::string_view kind, const Expr& e) {
      numbers_[&e.node()] = next_;
      out += str(indent, kind, " %", next_++, e.name().empty() ? "" : " ", e.name(), " : ", e.type().text(), "\n");
    };
    for (const Expr& input : g.inputs) leaf("input ", input);
    std::vector<Expr> roots = g.roots();
    for (const Update& update : g.updates) roots.push_back(update.variable);
    for (const Node* node : topological_order(roots)) {
      if (numbers_.count(node) && outer.count(node) == 0) continue;
      if (node->is_leaf()) {
        leaf(node->op == &shared_op() ? "shared" : "free  ", (*node)[0]);
        continue;
      }
      numbers_[node] = next_;
      out += str(indent, "%", next_++, " = ", node->op->name, "(",
                 join(node->inputs, ", ", [&](const Expr& e) { return ref(e); }), ")");
      if (!node->props.empty())
        out += str(" {",
                   join(node->props.all(), ", ", [](const auto& p) { return str(p.first, "=", prop_text(p.second)); }),
                   "}");
      if (node->recompute) out += str(" again ", node->recompute);
      out += str(" : ", join(node->types, "; ", [](const Type& t) { return t.text(); }));
      if (!node->name.empty()) out += str("  # ", node->name);
      out += "\n";
      for (const GraphPtr& body : node->bodies)
        out += str(indent, "  body\n", graph(*body, depth + 2), indent, "  end\n");
    }
    for (const Expr& e : g.outputs) out += str(indent, "output  ", ref(e), "\n");
    for (const Update& u : g.updates) out += str(indent, "update  ", ref(u.variable), " <- ", ref(u.value), "\n");
    if (depth > 0) {
      numbers_ = std::move(outer);
      next_ = outer_next;
    }
    return out;
  }

 private:
  std::string ref(const Expr& e) const {
    std::string out = str("%", numbers_.at(&e.node()));
    return e.node().types.size() > 1 ? str(out, ".", e.output()) : out;
  }
  std::unordered_map<const Node*, size_t> numbers_;
  size_t next_ = 0;
};

void nested(const Expr& value, size_t limit, std::string& out) {
  if (out.size() >= limit) return;
  const Node& node = value.node();
  if (!node.name.empty() && (!out.empty() || node.is_leaf()))
    out += node.name;
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

std::string graph_text(const Graph& graph) {
  return Printer().graph(graph, 0);
}

std::string expr_text(const Expr& value, size_t limit) {
  std::string out;
  nested(value, limit, out);
  if (out.size() > limit) out = out.substr(0, limit) + "...";
  return out;
}

}  // namespace thtrain
