// Applying rules to a graph: bottom-up, each new node at once, within a budget.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "compiler/ir/node_map.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

constexpr int kFiringsPerNode = 32, kMaxSweeps = 4;
constexpr size_t kMaxGrowth = 4;
constexpr int64_t kLargestFolded = 4096;  // elements

// A rule, and what the operands of a value must look like for it: most rules are ruled out by that glance.
struct Candidate {
  const Rule* rule;
  unsigned kinds;                        // at this level
  bool is_cleanup = false;               // has seen the nodes of the graph given
  std::vector<const Op*> operands = {};  // null: any; constant_op: a number

  bool fits(const Node& node, const std::array<bool, 3>& is_number) const {
    if (operands.empty()) return true;
    if (fits(node, is_number, 0, 1)) return true;
    return node.op->commutative && operands.size() == 2 && fits(node, is_number, 1, 0);
  }

 private:
  bool fits(const Node& node, const std::array<bool, 3>& is_number, size_t first, size_t second) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      const size_t k = i == 0 ? first : i == 1 ? second : i;
      if (operands[i] == nullptr || (operands.size() == 1 && k != 0)) continue;
      if (operands[i] == &constant_op() ? !is_number[k] : operands[i] != node.inputs[k].node().op) return false;
    }
    return true;
  }
};

// The candidates for each op, in the order of the table.
class RuleIndex {
 public:
  RuleIndex(std::span<const Rule* const> rules, std::span<const Rule* const> cleanup, const PassContext& context) {
    for (const Rule* rule : rules) add(rule, context, false);
    for (const Rule* rule : cleanup) add(rule, context, true);
  }
  const std::vector<Candidate>& of(const Op* op) const {
    static const std::vector<Candidate> none;
    auto at = by_op_.find(op);
    return at == by_op_.end() ? none : at->second;
  }

 private:
  void add(const Rule* rule, const PassContext& context, bool is_cleanup) {
    if (context.without.contains(rule->name)) return;
    Candidate candidate{rule, 0, is_cleanup};
    for (DType dtype : kAllDTypes)
      if (kind_of(dtype) & rule->kinds && rule_allowed(*rule, dtype, context.level)) candidate.kinds |= kind_of(dtype);
    if (candidate.kinds == 0) return;
    if (!rule->rewrite) {
      for (const Expr& operand : rule->from.node().inputs) {
        const bool number = is_constant(operand) || is_any_number(operand);
        const bool any = !number && operand.node().inputs.empty();
        candidate.operands.push_back(number ? &constant_op() : any ? nullptr : operand.node().op);
      }
      by_op_[rule->from.node().op].push_back(candidate);
    } else {
      const std::vector<const Op*>& roots = rule->roots.empty() ? elementwise_ops() : rule->roots;
      for (const Op* op : roots) by_op_[op].push_back(candidate);
    }
  }

  std::unordered_map<const Op*, std::vector<Candidate>> by_op_;
};

// What a whole graph may still cost.
struct Budget {
  size_t new_nodes;
  bool first = true;   // the nodes of the graph given have been tidied before
  bool again = false;  // another sweep may find more
};

class Sweep : public RuleContext {
 public:
  Sweep(const RuleIndex& rules, const PassContext& context, const std::string& pass, Budget& budget)
      : rules_(rules), context_(context), pass_(pass), budget_(budget) {}

  Graph run(const Graph& graph) {
    const std::vector<Expr> roots = graph.roots();
    const std::vector<const Node*> order = topological_order(roots);
    old_.reserve(order.size());
    new_.reserve(2 * order.size());
    for (const Node* node : order) {
      old_.try_emplace(node);
      for_each_operand(*node, [&](const Node* operand) { ++old_.at(operand).readers; });
    }
    for (const Expr& root : roots) ++old_.at(&root.node()).readers;
    std::vector<Expr> inputs;
    for (const Node* node : order) {
      inputs.clear();
      for (const Expr& input : node->inputs) inputs.push_back(rebuilt(input));
      InheritOrigin origin(node->origin);
      visit(*node, inputs, old_.at(node));
    }
    Graph out = map_roots(graph, [&](const Expr& root) { return rebuilt(root); });
    look_for_more(out.roots());
    return out;
  }

  bool has_at_most_uses(const Expr& value, size_t count) const override {
    const New* at = new_.find(&value.node());
    if (!at || at->readers <= count) return true;
    shared_.try_emplace(&value.node());
    return false;
  }
  Expr normalize(const Expr& value) override {
    Interned done;
    return intern(value, done);
  }
  Level level() const override { return context_.level; }

 private:
  // A node of the graph given: its new value, and how many nodes read it.
  struct Old {
    std::shared_ptr<const Node> made = {};  // where it has several outputs
    Expr value = {};
    size_t readers = 0;
  };
  // A node of the new graph: the value after all rules, and how many nodes read the old nodes that became it.
  struct New {
    Expr value;
    size_t readers = 0;
  };
  using Interned = NodeMap<Expr>;

  // Each once, however often it is read.
  template <class F>
  static void for_each_operand(const Node& node, F f) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      bool seen = false;
      for (size_t k = 0; k < i && !seen; ++k) seen = &node.inputs[k].node() == &node.inputs[i].node();
      if (!seen) f(&node.inputs[i].node());
    }
  }

  Expr rebuilt(const Expr& old) const {
    const Old& entry = old_.at(&old.node());
    return entry.made ? Expr(entry.made, old.output()) : entry.value;
  }

  void visit(const Node& node, const std::vector<Expr>& inputs, Old& entry) {
    std::shared_ptr<const Node> made = unique(with_inputs(node, inputs));
    firings_left_ = kFiringsPerNode;
    recompute_ = node.recompute;
    if (node.types.size() == 1)
      entry.value = normalized(Expr(made), budget_.first && made.get() == &node);
    else
      entry.made = made;
    const Node* result = entry.made ? made.get() : &entry.value.node();
    new_.try_emplace(result, New{Expr(entry.made ? made : entry.value.node_ptr())}).first.readers += entry.readers;
  }

  std::shared_ptr<const Node> with_inputs(const Node& node, const std::vector<Expr>& inputs) {
    bool changed = false;
    for (size_t i = 0; i < inputs.size(); ++i) changed = changed || !inputs[i].same(node.inputs[i]);
    return changed ? clone_with_inputs(node, inputs, node.bodies) : node.self.lock();
  }

  // The one node of this identity. Of a commutative op the order that was met first stays.
  std::shared_ptr<const Node> unique(std::shared_ptr<const Node> node) {
    if (!node->op->commutative || node->inputs.size() != 2) return cons_.cons(std::move(node));
    const Expr *a = &node->inputs[0], *b = &node->inputs[1];
    if (std::less<>()(&b->node(), &a->node()) || (&b->node() == &a->node() && b->output() < a->output()))
      std::swap(a, b);
    Operands key{node->op, &a->node(), &b->node(), a->output(), b->output(), node->recompute};
    return commuted_.try_emplace(key, std::move(node)).first->second;
  }

  // A unique value on settled inputs, after all rules. An untouched one is a node of the graph given.
  Expr normalized(const Expr& value, bool untouched = false) {
    // While a value is being rewritten it stands for itself, so a circle of rules ends.
    auto [entry, fresh] = new_.try_emplace(&value.node(), New{value});
    if (!fresh) return entry.value;
    if (value.node().is_leaf() || is_constant(value)) return value;
    Expr out = folded(value);
    if (!out.has_value()) out = rewritten(value, untouched);
    return new_.at(&value.node()).value = out;
  }

  Expr rewritten(const Expr& value, bool untouched) {
    const Node& node = value.node();
    const std::vector<Candidate>& candidates = rules_.of(node.op);
    if (candidates.empty()) return value;
    const unsigned kind = kind_of(value.dtype());
    std::array<bool, 3> is_number{};
    for (size_t i = 0; i < std::min<size_t>(3, node.inputs.size()); ++i) is_number[i] = number_in(node.inputs[i]);
    for (const Candidate& candidate : candidates) {
      if (!(candidate.kinds & kind) || (candidate.is_cleanup && untouched) || !candidate.fits(node, is_number))
        continue;
      if (firings_left_ == 0 || budget_.new_nodes == 0) break;
      const size_t noted = context_.fired ? context_.fired->size() : 0;
      Expr after = apply_rule(*candidate.rule, value, *this);
      if (!after.has_value() || after.same(value)) {  // what it looked at on the way is no rewrite of the graph
        if (context_.fired)
          context_.fired->erase(context_.fired->begin() + static_cast<std::ptrdiff_t>(noted), context_.fired->end());
        continue;
      }
      --firings_left_;
      context_.note(pass_, candidate.rule->name, value, after, candidate.rule->safety);
      return normalize(after);
    }
    return value;
  }

  // A value of constants alone. Small ones only, and by the op's reference, as constant_fold does.
  Expr folded(const Expr& value) {
    const Node& node = value.node();
    const Type& type = value.type();
    if (node.inputs.empty() || !node.op->foldable || node.op->has_effect || !node.bodies.empty()) return {};
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_constant)) return {};
    if (type.kind != TypeKind::kTensor || !type.is_known() || type.elements().value() > kLargestFolded) return {};
    std::vector<Tensor> values;
    for (const Expr& input : node.inputs) values.push_back(*constant_value(input));
    return normalized(Expr(unique(make_constant(evaluate_node(node, values, Lengths())[0]).node_ptr())));
  }

  // Takes a new expression into the graph: its new nodes become unique and are settled, inputs first.
  Expr intern(const Expr& value, Interned& done) {
    const Node& node = value.node();
    if (const New* at = new_.find(&node))
      return node.types.size() == 1 ? at->value : Expr(at->value.node_ptr(), value.output());
    if (const Expr* at = done.find(&node))
      return Expr(at->node_ptr(), node.types.size() == 1 ? at->output() : value.output());
    std::vector<Expr> inputs;
    for (const Expr& input : node.inputs) inputs.push_back(intern(input, done));
    std::shared_ptr<const Node> made = with_inputs(node, inputs);
    // What a rule makes of a deliberate recomputation is one too, so that it does not merge with the original.
    if (!made->is_leaf() && made->op != &constant_op()) made = tagged(made, recompute_);
    std::shared_ptr<const Node> own = unique(made);
    if (own == made && budget_.new_nodes > 0) --budget_.new_nodes;
    Expr out(own, value.output());
    if (own->types.size() == 1) out = normalized(out);
    done.try_emplace(&node, out);
    return out;
  }

  // A value that had several readers, which kept a rule away, may have one now.
  void look_for_more(const std::vector<Expr>& roots) {
    if (shared_.size() == 0 || budget_.again) return;
    auto read = [&](const Node* node) {
      if (size_t* readers = shared_.find(node)) ++*readers;
    };
    const std::vector<const Node*> order = topological_order(roots);
    for (const Node* node : order) for_each_operand(*node, read);
    for (const Expr& root : roots) read(&root.node());
    for (const Node* node : order) {
      const size_t* readers = shared_.find(node);
      budget_.again = budget_.again || (readers && *readers == 1);
    }
  }

  struct Operands {
    const Op* op;
    const Node *a, *b;
    size_t output_a, output_b;
    int recompute;
    friend bool operator==(const Operands&, const Operands&) = default;
  };
  struct OperandsHash {
    size_t operator()(const Operands& k) const {
      size_t seed = std::hash<const void*>()(k.op);
      for (size_t part : {std::hash<const void*>()(k.a), std::hash<const void*>()(k.b), k.output_a, k.output_b})
        seed = (seed ^ part) * 0x9e3779b97f4a7c15ull + (seed >> 29);
      return seed;
    }
  };

  const RuleIndex& rules_;
  const PassContext& context_;
  const std::string& pass_;
  Budget& budget_;
  Rebuilder cons_;
  std::unordered_map<Operands, std::shared_ptr<const Node>, OperandsHash> commuted_;
  NodeMap<Old> old_;
  NodeMap<New> new_;
  mutable NodeMap<size_t> shared_;  // what has_one_use() said no to, and how many read it in the end
  int firings_left_ = kFiringsPerNode;
  int recompute_ = 0;
};

}  // namespace

Graph apply_rules(const Graph& graph, std::span<const Rule* const> rules, const PassContext& context,
                  const std::string& pass, std::span<const Rule* const> cleanup) {
  const RuleIndex index(rules, cleanup, context);
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::all_of(order, [&](const Node* node) { return index.of(node->op).empty(); })) return graph;
  Graph current = graph;
  Budget budget{.new_nodes = kMaxGrowth * node_count(graph) + 256};
  for (int i = 0; i < kMaxSweeps; ++i) {
    budget.again = false;
    current = Sweep(index, context, pass, budget).run(current);
    if (!budget.again) break;
    budget.first = false;
  }
  return current;
}

}  // namespace thtrain
