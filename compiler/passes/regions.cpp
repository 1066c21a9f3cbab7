#include "compiler/passes/regions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

constexpr size_t kMostNodes = 64, kMostOperands = 24;

bool is_scalar_constant(const Expr& e) {
  const Tensor* value = constant_value(e);
  return value && value->size() == 1 && value->rank() == 0;
}

}  // namespace

RegionFuser::RegionFuser(const Graph& graph) : graph_(graph), order_(topological_order(graph.roots())) {
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  readers_ = readers_of(order_);
  for (const Expr& root : graph.roots()) is_root_.insert(&root.node());
}

Graph RegionFuser::run() {
  grow();
  Graph out;
  out.inputs = graph_.inputs;
  for (const Expr& e : graph_.outputs) out.outputs.push_back(build(e));
  for (const Update& u : graph_.updates) out.updates.push_back({u.variable, build(u.value)});
  return out;
}

const std::vector<const Node*>& RegionFuser::readers(const Node& node) const {
  static const std::vector<const Node*> none;
  auto at = readers_.find(&node);
  return at == readers_.end() ? none : at->second;
}

bool RegionFuser::is_in(const Node& node, const Region& region) const {
  auto at = region_of_.find(&node);
  return at != region_of_.end() && &regions_[static_cast<size_t>(at->second)] == &region;
}

// Readers first: a node joins the region of the last of its readers that can take it.
void RegionFuser::grow() {
  for (size_t i = order_.size(); i-- > 0;) {
    const Node* node = order_[i];
    if (!is_fusable(*node)) continue;
    std::vector<int> candidates;
    for (const Node* reader : readers(*node))
      if (auto at = region_of_.find(reader); at != region_of_.end()) candidates.push_back(at->second);
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    auto found = std::find_if(candidates.begin(), candidates.end(), [&](int r) { return can_join(node, r); });
    int region = found != candidates.end() ? *found : static_cast<int>(regions_.size());
    if (found == candidates.end()) {
      regions_.emplace_back();
      if (!joins(*node, regions_.back())) {
        regions_.pop_back();
        continue;
      }
    }
    regions_[static_cast<size_t>(region)].nodes.push_back(node);
    region_of_[node] = region;
    if (found == candidates.end()) continue;
    std::iter_swap(candidates.begin(), found);
    merge_readers(candidates);
  }
  for (Region& region : regions_) {
    if (!is_worth_it(region)) {
      for (const Node* node : region.nodes) region_of_.erase(node);
      region.nodes.clear();
    }
    std::sort(region.nodes.begin(), region.nodes.end(),
              [&](const Node* a, const Node* b) { return position_[a] < position_[b]; });
  }
}

bool RegionFuser::can_join(const Node* node, int region) {
  Region& r = regions_[static_cast<size_t>(region)];
  return r.nodes.size() < kMostNodes && operands({region}, node) <= kMostOperands &&
         !leads_outside_and_back({node}, {region}) && joins(*node, r);
}

// regions[0] has just taken a node that the others read too.
void RegionFuser::merge_readers(const std::vector<int>& regions) {
  for (size_t i = 1; i < regions.size(); ++i) {
    Region &into = regions_[static_cast<size_t>(regions[0])], &from = regions_[static_cast<size_t>(regions[i])];
    std::vector<int> both{regions[0], regions[i]};
    if (into.nodes.size() + from.nodes.size() > kMostNodes || !merges(into, from)) continue;
    std::vector<const Node*> nodes = into.nodes;
    nodes.insert(nodes.end(), from.nodes.begin(), from.nodes.end());
    if (operands(both, nullptr) > kMostOperands || leads_outside_and_back(nodes, both)) continue;
    for (const Node* node : from.nodes) region_of_[node] = regions[0];
    into.nodes = std::move(nodes);
    if (into.reduced.empty()) into.reduced = from.reduced;
    into.has_reduction |= from.has_reduction;
    from.nodes.clear();
  }
}

// Walks the readers between; past a limit the answer is the safe one. A region counts as one node: what one member can
// reach, all can.
bool RegionFuser::leads_outside_and_back(const std::vector<const Node*>& nodes, const std::vector<int>& regions) const {
  constexpr size_t kMostSteps = 400;
  auto is_member = [&](const Node* node) {
    auto at = region_of_.find(node);
    return at != region_of_.end() && std::find(regions.begin(), regions.end(), at->second) != regions.end();
  };
  std::vector<const Node*> stack;
  std::unordered_set<const Node*> seen;
  auto visit = [&](const Node* node) {
    if (seen.insert(node).second) stack.push_back(node);
  };
  for (const Node* node : nodes)
    for (const Node* reader : readers(*node))
      if (!is_member(reader)) visit(reader);
  while (!stack.empty()) {
    const Node* now = stack.back();
    stack.pop_back();
    if (is_member(now) || seen.size() > kMostSteps) return true;
    for (const Node* reader : readers(*now)) visit(reader);
    if (auto at = region_of_.find(now); at != region_of_.end())  // all of its region runs together
      for (const Node* sibling : regions_[static_cast<size_t>(at->second)].nodes) visit(sibling);
  }
  return false;
}

// How many values from outside the regions, with `with` in them, are read; scalar constants are printed.
size_t RegionFuser::operands(const std::vector<int>& regions, const Node* with) const {
  std::set<std::pair<const Node*, size_t>> seen;
  auto count = [&](const Node* node) {
    for (const Expr& e : node->inputs) {
      auto at = region_of_.find(&e.node());
      bool inside = at != region_of_.end() && std::find(regions.begin(), regions.end(), at->second) != regions.end();
      if (&e.node() != with && !inside && !is_scalar_constant(e)) seen.emplace(&e.node(), e.output());
    }
  };
  for (int region : regions)
    for (const Node* node : regions_[static_cast<size_t>(region)].nodes) count(node);
  if (with) count(with);
  return seen.size();
}

// The new value of an old one. Iterative over regions and nodes.
Expr RegionFuser::build(const Expr& root) {
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

void RegionFuser::build_single(const Node& node) {
  std::vector<Expr> inputs;
  bool changed = false;
  for (const Expr& e : node.inputs) {
    inputs.push_back(built_.at(&e.node())[e.output()]);
    changed |= !inputs.back().same(e);
  }
  std::vector<GraphPtr> bodies;
  for (const GraphPtr& body : node.bodies) {
    if (node.op->fused) {  // its body is a kernel already
      bodies.push_back(body);
      continue;
    }
    bodies.push_back(std::make_shared<const Graph>(fuse_body(*body)));
    changed = true;
  }
  std::shared_ptr<const Node> made = changed ? remake(node, std::move(inputs), std::move(bodies)) : node.self.lock();
  made = consing_.cons(made);
  for (size_t o = 0; o < node.types.size(); ++o) built_[&node].push_back((*made)[o]);
}

void RegionFuser::build_region(const Region& region) {
  InheritOrigin origin(region.nodes.back()->origin);
  std::unordered_map<const Node*, std::vector<Expr>> inner;
  auto body = std::make_shared<Graph>();
  std::vector<Expr> outer_inputs;
  std::unordered_map<const Node*, std::map<std::pair<size_t, int>, Expr>> stand_ins;
  std::vector<std::pair<const Node*, size_t>> results;
  for (const Node* node : region.nodes) {
    std::vector<Expr> inputs;
    for (const Expr& e : node->inputs) {
      if (auto at = inner.find(&e.node()); at != inner.end()) {
        inputs.push_back(at->second[e.output()]);
      } else if (is_scalar_constant(e)) {
        inputs.push_back(e);
      } else {
        Expr& stand_in = stand_ins[&e.node()][{e.output(), way_of_reading(region, *node)}];
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
    bool read = is_root(*node);
    for (const Node* reader : readers_[node]) read = read || !inner.count(reader);
    if (!read) continue;
    for (size_t o = 0; o < node->types.size(); ++o) results.emplace_back(node, o);
  }
  for (const auto& [node, o] : results) body->outputs.push_back(inner[node][o]);
  std::shared_ptr<const Node> made = make(body, std::move(outer_inputs));
  for (const Node* node : region.nodes) built_[node].resize(node->types.size());
  for (size_t k = 0; k < results.size(); ++k) built_[results[k].first][results[k].second] = (*made)[k];
}

}  // namespace thtrain
