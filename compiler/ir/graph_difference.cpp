#include "compiler/ir/graph_difference.h"

#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ir/roles.h"

namespace thtrain {
namespace {

class Comparison {
 public:
  Comparison(const Graph& before, const Graph& after, StableNumbers& numbers)
      : before_(before), after_(after), numbers_(numbers), old_(text_order(before)), new_(text_order(after)) {
    for (size_t i = 0; i < old_.size(); ++i) index_[old_[i]] = i;
  }

  GraphDifference run() {
    for (const Node* node : new_)
      if (index_.contains(node)) match(node, node);
    for (const Node* node : old_)
      if (!taken_.contains(node)) by_line_[line(*node, 0)].push_back(node);
    match_lines();
    match_indices();
    match_lines();
    for (const Node* node : new_)
      if (!counterpart_.contains(node)) numbers_.of[node] = numbers_.next++;
    return difference();
  }

 private:
  std::string line(const Node& node, size_t number) const { return node_text(node, number, numbers_.of); }
  std::string line(const Node& node) const { return line(node, numbers_.of.at(&node)); }

  void match(const Node* old, const Node* fresh) {
    const size_t number = numbers_.of.at(old);
    numbers_.of[fresh] = number;
    taken_[old] = true;
    counterpart_[fresh] = old;
  }

  // Nodes whose line, but for their own number, was there before.
  void match_lines() {
    for (const Node* node : new_) {
      if (counterpart_.contains(node) || node->is_leaf()) continue;
      bool known = true;
      for (const Expr& input : node->inputs) known = known && counterpart_.contains(&input.node());
      if (!known) continue;
      auto found = by_line_.find(line(*node, 0));
      if (found == by_line_.end()) continue;
      for (const Node* old : found->second)
        if (!taken_.contains(old)) {
          match(old, node);
          break;
        }
    }
  }

  // From the outputs and updates down, as long as the ops agree.
  void match_indices() {
    std::vector<std::pair<Expr, Expr>> open;
    const std::vector<Expr> old_roots = before_.roots(), new_roots = after_.roots();
    for (size_t i = std::min(old_roots.size(), new_roots.size()); i-- > 0;)
      open.emplace_back(old_roots[i], new_roots[i]);
    while (!open.empty()) {
      const auto [old, fresh] = open.back();
      open.pop_back();
      if (taken_.contains(&old.node()) || counterpart_.contains(&fresh.node())) continue;
      if (old.output() != fresh.output() || !(old.node().types == fresh.node().types)) continue;
      match(&old.node(), &fresh.node());
      if (old.node().op == fresh.node().op) push_operands(old.node(), fresh.node(), open);
    }
  }

  // The operands that are not matched yet: they replace each other where they are as many.
  void push_operands(const Node& old, const Node& fresh, std::vector<std::pair<Expr, Expr>>& open) const {
    std::vector<Expr> left, right;
    for (const Expr& e : old.inputs)
      if (!taken_.contains(&e.node())) left.push_back(e);
    for (const Expr& e : fresh.inputs)
      if (!counterpart_.contains(&e.node())) right.push_back(e);
    if (left.size() != right.size()) return;
    for (size_t i = left.size(); i-- > 0;) open.emplace_back(left[i], right[i]);
  }

  GraphDifference difference() {
    GraphDifference out;
    const NodeNotes old_notes = role_notes(before_), new_notes = role_notes(after_);
    auto shown_line = [&](const Node& node, const NodeNotes& notes) {
      return node_text(node, numbers_.of.at(&node), numbers_.of, notes);
    };
    NodeMap<bool> stays;  // old nodes whose line is in both
    for (const Node* node : new_) {
      const Node* const* old = counterpart_.find(node);
      if (old && (*old == node || line(**old) == line(*node))) stays[*old] = true;
    }
    size_t shown = 0;  // of the old lines
    auto show_old = [&](size_t end) {
      for (; shown < end; ++shown)
        if (!stays.contains(old_[shown])) {
          out.removed.push_back(old_[shown]);
          add(out.text, '-', shown_line(*old_[shown], old_notes));
        }
    };
    for (const Node* node : new_) {
      const Node* const* old = counterpart_.find(node);
      if (old) show_old(std::max(shown, index_.at(*old) + 1));
      if (old && stays.contains(*old)) {
        ++out.same;
      } else {
        out.added.push_back(node);
        add(out.text, '+', shown_line(*node, new_notes));
      }
    }
    show_old(old_.size());
    add_roots(out.text);
    return out;
  }

  // Outputs and updates have their indices; only what they read may change.
  void add_roots(std::string& out) const {
    auto ref = [&](const Expr& e) {
      std::string number = str("%", numbers_.of.at(&e.node()));
      return e.node().types.size() > 1 ? str(number, ".", e.output()) : number;
    };
    auto lines = [&](const Graph& graph) {
      std::vector<std::string> all;
      for (const Expr& e : graph.outputs) all.push_back(str("output  ", ref(e), "\n"));
      for (const Update& u : graph.updates) all.push_back(str("update  ", ref(u.variable), " <- ", ref(u.value), "\n"));
      for (const Expr& e : graph.effects) all.push_back(str("effect  ", ref(e), "\n"));
      return all;
    };
    const std::vector<std::string> old = lines(before_), fresh = lines(after_);
    for (size_t i = 0; i < std::max(old.size(), fresh.size()); ++i) {
      if (i < old.size() && i < fresh.size() && old[i] == fresh[i]) continue;
      if (i < old.size()) add(out, '-', old[i]);
      if (i < fresh.size()) add(out, '+', fresh[i]);
    }
  }

  // A line with what is below it.
  static void add(std::string& out, char sign, const std::string& lines) {
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = lines.find('\n', begin) + 1;
      out += str(sign, ' ', std::string_view(lines).substr(begin, end - begin));
      begin = end;
    }
  }

  const Graph &before_, &after_;
  StableNumbers& numbers_;
  std::vector<const Node*> old_, new_;
  NodeMap<size_t> index_;             // of the old ones
  NodeMap<bool> taken_;               // old ones that have a counterpart
  NodeMap<const Node*> counterpart_;  // of the new ones
  std::unordered_map<std::string, std::vector<const Node*>> by_line_;
};

void append_short(const Expr& value, const NodeNumbers& numbers, int depth, std::string& out) {
  const Node& node = value.node();
  const size_t* number = numbers.find(&node);
  if (const Tensor* tensor = constant_value(value); tensor && tensor->size() == 1) {
    out += tensor->text();
  } else if (node.is_leaf()) {
    out += node.name.empty() ? node.op->name : node.name;
  } else if (depth >= 2 && number) {
    out += str("%", *number);
  } else if (depth >= 3) {
    out += "...";
  } else {
    out += node.op->name + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i) out += ", ";
      append_short(node.inputs[i], numbers, depth + 1, out);
    }
    out += ")";
  }
  if (node.types.size() > 1) out += str(".", value.output());
}

}  // namespace

StableNumbers::StableNumbers(const Graph& graph) {
  for (const Node* node : text_order(graph)) of[node] = next++;
}

GraphDifference graph_difference(const Graph& before, const Graph& after, StableNumbers& numbers) {
  return Comparison(before, after, numbers).run();
}

std::string short_text(const Expr& value, const NodeNumbers& numbers) {
  std::string out;
  append_short(value, numbers, 0, out);
  return out;
}

}  // namespace thtrain
