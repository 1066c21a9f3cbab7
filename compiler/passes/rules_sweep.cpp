// Applying rules to a graph: bottom-up, each new node at once, within a budget.
#include <algorithm>
#include <unordered_map>

#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

constexpr int kFiringsPerNode = 32, kMostSweeps = 4;
constexpr size_t kMostGrowth = 4;
constexpr int64_t kLargestFolded = 4096;  // elements

// The rules for each op, in the order of the table.
class RuleIndex {
 public:
  RuleIndex(std::span<const Rule* const> rules) {
    for (const Rule* rule : rules) {
      if (!rule->rewrite) {
        by_op_[rule->from.node().op].push_back(rule);
      } else if (!rule->roots.empty()) {
        for (const Op* op : rule->roots) by_op_[op].push_back(rule);
      } else {
        for (const Op* op : elementwise_ops()) by_op_[op].push_back(rule);
      }
    }
  }
  const std::vector<const Rule*>& of(const Op* op) const {
    static const std::vector<const Rule*> none;
    auto at = by_op_.find(op);
    return at == by_op_.end() ? none : at->second;
  }

 private:
  std::unordered_map<const Op*, std::vector<const Rule*>> by_op_;
};

// What a whole graph, its bodies included, may still cost.
struct Budget {
  size_t new_nodes;
  size_t firings = 0;
};

class Sweep : public RuleContext {
 public:
  Sweep(const RuleIndex& rules, const PassContext& context, const std::string& pass, Budget& budget)
      : rules_(rules), context_(context), pass_(pass), budget_(budget) {}

  Graph run(const Graph& graph) {
    count_readers(graph.roots());
    Rebuilder::Rewrite rewrite = [this](const Node& node, const std::vector<Expr>& inputs) {
      return visit(node, inputs);
    };
    Graph out;
    out.inputs = graph.inputs;
    out.outputs = rebuilder_.rebuild(graph.outputs, rewrite);
    for (const Update& update : graph.updates)
      out.updates.push_back({update.variable, rebuilder_.rebuild(update.value, rewrite)});
    return out;
  }

  bool read_once(const Expr& value) const override {
    auto at = readers_.find(&value.node());
    return at == readers_.end() || at->second <= 1;
  }
  Expr settle(const Expr& value) override {
    std::unordered_map<const Node*, std::vector<Expr>> done;
    return adopt(value, done);
  }
  Level level() const override { return context_.level; }

 private:
  void count_readers(const std::vector<Expr>& roots) {
    std::vector<const Node*> order = topological_order(roots);
    for (const auto& [node, readers] : readers_of(order)) old_readers_[node] = readers.size();
    for (const Expr& root : roots) ++old_readers_[&root.node()];
  }

  // The new value of an old node, on new inputs.
  std::vector<Expr> visit(const Node& node, const std::vector<Expr>& inputs) {
    std::shared_ptr<const Node> made = with_inputs(node, inputs);
    firings_left_ = kFiringsPerNode;
    recompute_ = node.recompute;
    std::vector<Expr> out = settled(unique(std::move(made)));
    readers_[&out[0].node()] += old_readers_[&node];
    return out;
  }

  std::shared_ptr<const Node> with_inputs(const Node& node, const std::vector<Expr>& inputs) {
    bool changed = false;
    for (size_t i = 0; i < inputs.size(); ++i) changed = changed || !inputs[i].same(node.inputs[i]);
    std::vector<GraphPtr> bodies = node.bodies;
    for (GraphPtr& body : bodies) {
      Graph swept = Sweep(rules_, context_, pass_, budget_).run(*body);
      bool same = true;
      for (size_t i = 0; i < swept.outputs.size(); ++i) same = same && swept.outputs[i].same(body->outputs[i]);
      if (!same) body = std::make_shared<const Graph>(std::move(swept));
      changed = changed || !same;
    }
    return changed ? remake(node, inputs, std::move(bodies)) : node.self.lock();
  }

  // The one node of this identity. Of a commutative op the order that was met first stays.
  std::shared_ptr<const Node> unique(std::shared_ptr<const Node> node) {
    if (!node->op->commutative || node->inputs.size() != 2) return rebuilder_.cons(std::move(node));
    const Expr *a = &node->inputs[0], *b = &node->inputs[1];
    if (std::less<>()(&b->node(), &a->node()) || (&b->node() == &a->node() && b->output() < a->output())) std::swap(a, b);
    Operands key{node->op, &a->node(), &b->node(), a->output(), b->output(), node->recompute};
    auto [at, fresh] = commuted_.try_emplace(key, nullptr);
    if (fresh) at->second = rebuilder_.cons(std::move(node));
    return at->second;
  }

  // The outputs of a unique node on settled inputs, after all rules.
  std::vector<Expr> settled(const std::shared_ptr<const Node>& node) {
    std::vector<Expr> own;
    for (size_t i = 0; i < node->types.size(); ++i) own.emplace_back(node, i);
    if (own.size() != 1) return own;
    return {settled(own[0])};
  }
  Expr settled(const Expr& value) {
    // While a value is being rewritten it stands for itself, so a circle of rules ends.
    auto [at, fresh] = settled_.try_emplace(&value.node(), value);
    if (!fresh) return at->second;
    if (value.node().is_leaf() || is_constant(value)) return value;
    Expr out = folded(value);
    if (!out) out = rewritten(value);
    return settled_[&value.node()] = out;
  }

  Expr rewritten(const Expr& value) {
    for (const Rule* rule : rules_.of(value.node().op)) {
      if (firings_left_ == 0 || budget_.new_nodes == 0) break;
      if (!rule_allowed(*rule, value.dtype(), context_.level)) continue;
      Expr after = apply_rule(*rule, value, *this);
      if (!after || after.same(value)) continue;
      --firings_left_;
      ++budget_.firings;
      context_.note(pass_, rule->name, value, after);
      return settle(after);
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
    return Expr(unique(make_constant(evaluate_node(node, values, Lengths())[0]).node_ptr()));
  }

  // Takes a new expression into the graph: its new nodes become unique and are settled, inputs first.
  Expr adopt(const Expr& value, std::unordered_map<const Node*, std::vector<Expr>>& done) {
    const Node& node = value.node();
    if (auto at = settled_.find(&node); at != settled_.end()) return at->second;
    auto at = done.find(&node);
    if (at == done.end()) {
      std::vector<Expr> inputs;
      for (const Expr& input : node.inputs) inputs.push_back(adopt(input, done));
      std::shared_ptr<const Node> made = with_inputs(node, inputs);
      if (made->recompute != recompute_ && !made->is_leaf() && made->op != &constant_op()) made = tagged(*made);
      std::shared_ptr<const Node> own = unique(made);
      if (own == made && budget_.new_nodes > 0) --budget_.new_nodes;
      at = done.emplace(&node, settled(own)).first;
    }
    return at->second[value.output()];
  }

  // What a rule makes of a deliberate recomputation is one too, so that it does not merge with the original.
  std::shared_ptr<const Node> tagged(const Node& node) const {
    auto out = std::make_shared<Node>();
    out->op = node.op;
    out->props = node.props;
    out->inputs = node.inputs;
    out->bodies = node.bodies;
    out->types = node.types;
    out->recompute = recompute_;
    out->origin = node.origin;
    out->name = node.name;
    out->serial = next_serial();
    out->self = out;
    return out;
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
  Rebuilder rebuilder_;
  std::unordered_map<Operands, std::shared_ptr<const Node>, OperandsHash> commuted_;
  std::unordered_map<const Node*, Expr> settled_;
  std::unordered_map<const Node*, size_t> old_readers_, readers_;
  int firings_left_ = kFiringsPerNode;
  int recompute_ = 0;
};

}  // namespace

Graph apply_rules(const Graph& graph, std::span<const Rule* const> rules, const PassContext& context,
                  const std::string& pass) {
  const RuleIndex index(rules);
  Graph current = graph;
  Budget budget{.new_nodes = kMostGrowth * node_count(graph) + 256};
  for (int i = 0; i < kMostSweeps; ++i) {
    size_t before = budget.firings;
    current = Sweep(index, context, pass, budget).run(current);
    if (budget.firings == before) break;
  }
  return current;
}

}  // namespace thtrain
