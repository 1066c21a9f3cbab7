#include "compiler/passes/fuse_elementwise.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/fused.h"

namespace thtrain {
namespace {

constexpr size_t kMostNodes = 64, kMostOperands = 24;

bool is_scalar_constant(const Expr& e) {
  const Tensor* value = constant_value(e);
  return value && value->size() == 1 && value->rank() == 0;
}

// Nodes that one loop will compute. A new member is an input of a member, and no way from it to a member leads through
// a node outside: that node would have to run in the middle of the loop.
struct Region {
  std::vector<const Node*> nodes;  // in topological order once it is grown
};

class Fuser {
 public:
  explicit Fuser(const Graph& graph) : graph_(graph), order_(topological_order(graph.roots())) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    readers_ = readers_of(order_);
    for (const Expr& root : graph.roots()) is_root_[&root.node()] = true;
  }

  Graph run() {
    grow();
    Graph out;
    out.inputs = graph_.inputs;
    for (const Expr& e : graph_.outputs) out.outputs.push_back(build(e));
    for (const Update& u : graph_.updates) out.updates.push_back({u.variable, build(u.value)});
    return out;
  }

 private:
  bool fusable(const Node* node) const { return has_scalar_code(*node); }

  static bool same_domain(const Node* a, const Node* b) { return a->types[0].dims == b->types[0].dims; }

  // Readers first: a node joins the region of the last of its readers that can take it.
  void grow() {
    for (size_t i = order_.size(); i-- > 0;) {
      const Node* node = order_[i];
      if (!fusable(node)) continue;
      int region = -1;
      for (const Node* reader : readers_[node]) {
        auto at = region_of_.find(reader);
        if (at != region_of_.end() && at->second > region && can_join(node, at->second)) region = at->second;
      }
      if (region < 0) {
        region = static_cast<int>(regions_.size());
        regions_.emplace_back();
      }
      regions_[static_cast<size_t>(region)].nodes.push_back(node);
      region_of_[node] = region;
    }
    for (Region& region : regions_)
      std::sort(region.nodes.begin(), region.nodes.end(),
                [&](const Node* a, const Node* b) { return position_[a] < position_[b]; });
  }

  bool can_join(const Node* node, int region) const {
    const Region& r = regions_[static_cast<size_t>(region)];
    return same_domain(node, r.nodes[0]) && r.nodes.size() < kMostNodes && operands(region, node) <= kMostOperands &&
           !leads_outside_and_back(node, region);
  }

  // Is there a way from `node` to a member of the region through a node that is no member? Walks the readers between
  // the two; past a limit the answer is the safe one. A region counts as one node: what one member can reach, all can.
  bool leads_outside_and_back(const Node* node, int region) const {
    constexpr size_t kMostSteps = 400;
    std::vector<const Node*> stack;
    std::unordered_map<const Node*, bool> seen;
    auto visit_readers = [&](const Node* from) {
      auto at = readers_.find(from);
      if (at == readers_.end()) return;
      for (const Node* reader : at->second)
        if (seen.emplace(reader, true).second) stack.push_back(reader);
    };
    for (const Node* reader : readers_.at(node))
      if (auto at = region_of_.find(reader); at == region_of_.end() || at->second != region)
        if (seen.emplace(reader, true).second) stack.push_back(reader);
    while (!stack.empty()) {
      const Node* now = stack.back();
      stack.pop_back();
      auto at = region_of_.find(now);
      if (at != region_of_.end() && at->second == region) return true;
      if (seen.size() > kMostSteps) return true;
      visit_readers(now);
      if (at != region_of_.end())  // all of its region runs together
        for (const Node* sibling : regions_[static_cast<size_t>(at->second)].nodes)
          if (seen.emplace(sibling, true).second) stack.push_back(sibling);
    }
    return false;
  }

  size_t operands(int region, const Node* with) const {
    std::vector<std::pair<const Node*, size_t>> seen;
    auto count = [&](const Node* node) {
      for (const Expr& e : node->inputs) {
        auto at = region_of_.find(&e.node());
        if (&e.node() == with || is_scalar_constant(e) || (at != region_of_.end() && at->second == region)) continue;
        std::pair<const Node*, size_t> key{&e.node(), e.output()};
        if (std::find(seen.begin(), seen.end(), key) == seen.end()) seen.push_back(key);
      }
    };
    for (const Node* node : regions_[static_cast<size_t>(region)].nodes) count(node);
    count(with);
    return seen.size();
  }

  // The new value of an old one. Iterative over regions and nodes.
  Expr build(const Expr& root) {
    std::vector<const Node*> stack{&root.node()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      if (built_.count(node)) {
        stack.pop_back();
        continue;
      }
      auto at = region_of_.find(node);
      std::vector<const Node*> members =
          at == region_of_.end() ? std::vector<const Node*>{node} : regions_[static_cast<size_t>(at->second)].nodes;
      bool ready = true;
      for (const Node* member : members)
        for (const Expr& e : member->inputs) {
          auto inside = region_of_.find(&e.node());
          bool own = at != region_of_.end() && inside != region_of_.end() && inside->second == at->second;
          if (!own && !built_.count(&e.node())) {
            stack.push_back(&e.node());
            ready = false;
          }
        }
      if (!ready) continue;
      stack.pop_back();
      if (at == region_of_.end())
        build_single(*node);
      else
        build_region(regions_[static_cast<size_t>(at->second)]);
    }
    return built_.at(&root.node())[root.output()];
  }

  void build_single(const Node& node) {
    std::vector<Expr> inputs;
    bool changed = false;
    for (const Expr& e : node.inputs) {
      inputs.push_back(built_.at(&e.node())[e.output()]);
      changed |= !inputs.back().same(e);
    }
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies) {
      if (node.op == &fused_op()) {  // its body is a loop already
        bodies.push_back(body);
        continue;
      }
      bodies.push_back(std::make_shared<const Graph>(Fuser(*body).run()));
      changed = true;
    }
    std::shared_ptr<const Node> made = changed ? remake(node, std::move(inputs), std::move(bodies)) : node.self.lock();
    made = consing_.cons(made);
    for (size_t o = 0; o < node.types.size(); ++o) built_[&node].push_back((*made)[o]);
  }

  void build_region(const Region& region) {
    InheritOrigin origin(region.nodes.back()->origin);
    std::unordered_map<const Node*, std::vector<Expr>> inner;
    auto body = std::make_shared<Graph>();
    std::vector<Expr> outer_inputs;
    std::unordered_map<const Node*, std::unordered_map<size_t, Expr>> stand_ins;
    std::vector<std::pair<const Node*, size_t>> results;
    for (const Node* node : region.nodes) {
      std::vector<Expr> inputs;
      for (const Expr& e : node->inputs) {
        if (auto at = inner.find(&e.node()); at != inner.end()) {
          inputs.push_back(at->second[e.output()]);
        } else if (is_scalar_constant(e)) {
          inputs.push_back(e);
        } else {
          Expr& stand_in = stand_ins[&e.node()][e.output()];
          if (!stand_in) {
            Expr value = built_.at(&e.node())[e.output()];
            stand_in = make_input(value.type(), e.name());
            body->inputs.push_back(stand_in);
            outer_inputs.push_back(value);
          }
          inputs.push_back(stand_in);
        }
      }
      std::shared_ptr<const Node> made = remake(*node, std::move(inputs), {});
      for (size_t o = 0; o < node->types.size(); ++o) inner[node].push_back((*made)[o]);
    }
    // What others read, in the region's order.
    for (const Node* node : region.nodes) {
      bool read = is_root_.count(node) != 0;
      for (const Node* reader : readers_[node]) read = read || !inner.count(reader);
      if (!read) continue;
      for (size_t o = 0; o < node->types.size(); ++o) results.emplace_back(node, o);
    }
    for (const auto& [node, o] : results) body->outputs.push_back(inner[node][o]);
    std::shared_ptr<const Node> made = make_fused(body, std::move(outer_inputs));
    for (const Node* node : region.nodes) built_[node].resize(node->types.size());
    for (size_t k = 0; k < results.size(); ++k) built_[results[k].first][results[k].second] = (*made)[k];
  }

  const Graph& graph_;
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, size_t> position_;
  std::unordered_map<const Node*, std::vector<const Node*>> readers_;
  std::unordered_map<const Node*, bool> is_root_;
  std::unordered_map<const Node*, int> region_of_;
  std::vector<Region> regions_;
  std::unordered_map<const Node*, std::vector<Expr>> built_;
  Rebuilder consing_;
};

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext&) {
  return Fuser(graph).run();
}

}  // namespace thtrain
