#include "compiler/passes/regions.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

constexpr size_t kMaxNodes = 64, kMaxOperands = 24;

bool is_in_step(Access access) {
  return access <= Access::kRow;
}

// A value from outside the region and the way in which it is read: an input of the body.
struct Reading {
  const Expr* value;
  Access access;  // kRow counts as kElement
  bool is_of_slices;
};

bool is_scalar_constant(const Expr& e) {
  const Tensor* value = constant_value(e);
  return value && value->size() == 1 && value->rank() == 0;
}

}  // namespace

bool exceeds_cache(const Type& type, const kernel::FusionLimits& limits) {
  if (type.kind != TypeKind::kTensor) return false;
  const Dim elements = type.elements();
  return elements.is_known() && elements.value() * static_cast<int64_t>(size_of(type.dtype)) >= limits.cached_bytes;
}

Layout planned_layout(const Expr& value) {
  std::vector<Expr> views;
  Expr at = value;
  for (; is_view(at); at = viewed_by(at)) views.push_back(at);
  Layout layout = row_major(at.dims());
  for (size_t i = views.size(); i-- > 0;) {
    const Node& node = views[i].node();
    layout = view_rule(*node.op, views[i].output())->view({node, layout}).value_or(row_major(views[i].dims()));
  }
  return layout;
}

RegionFuser::RegionFuser(const Graph& graph, const kernel::FusionLimits& limits)
    : limits_(limits),
      graph_(graph),
      order_(topological_order(graph.roots())),
      readers_(order_),
      seen_(order_.size(), 0) {
  locations_.reserve(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) locations_.try_emplace(order_[i], {.position = i});
  for (const Expr& root : graph.roots()) locations_.at(&root.node()).is_root = true;
}

Graph RegionFuser::run() {
  grow();
  return map_roots(graph_, [&](const Expr& root) { return build(root); });
}

bool RegionFuser::reads_in_step(const Node& reader, size_t input) const {
  return is_in_step(access_of(reader, input));
}

// Does the reader need more of the value than the element or the row that it computes?
bool RegionFuser::reads_other_elements(const Node& reader, const Node& value) const {
  for (size_t i = 0; i < reader.inputs.size(); ++i)
    if (&reader.inputs[i].node() == &value && !reads_in_step(reader, i)) return true;
  return false;
}

bool RegionFuser::is_used_only_in(const Node& node, const FusionRegion& region) const {
  return !is_root(node) && std::all_of(readers(node).begin(), readers(node).end(),
                                       [&](const Node* reader) { return is_in(*reader, region); });
}

bool RegionFuser::is_in(const Node& node, const FusionRegion& region) const {
  const int number = locations_.at(&node).region;
  return number >= 0 && &regions_[static_cast<size_t>(number)] == &region;
}

// Readers come first: a node joins the region of the last of its readers that can take it.
void RegionFuser::grow() {
  for (size_t i = order_.size(); i-- > 0;) {
    const Node* node = order_[i];
    if (!is_fusable(*node)) continue;
    std::vector<int> candidates;
    for (const Node* reader : readers(*node))
      if (int region = locations_.at(reader).region; region >= 0) candidates.push_back(region);
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
    add(node, region);
    if (found == candidates.end()) continue;
    std::iter_swap(candidates.begin(), found);
    merge_readers(candidates);
  }
  merge_siblings();
  for (FusionRegion& region : regions_) {
    if (!is_worth_it(region)) {
      for (const Node* node : region.nodes) locations_.at(node).region = -1;
      region.nodes.clear();
    }
    std::sort(region.nodes.begin(), region.nodes.end(),
              [&](const Node* a, const Node* b) { return locations_.at(a).position < locations_.at(b).position; });
  }
}

// Counting the operands takes a walk through the region: it is done where a bound does not answer.
void RegionFuser::add(const Node* node, int region) {
  FusionRegion& r = regions_[static_cast<size_t>(region)];
  r.nodes.push_back(node);
  locations_.at(node).region = region;
  r.most_operands += node->inputs.size();
  if (r.most_operands > kMaxOperands) r.most_operands = operands({region}, nullptr);
}

bool RegionFuser::can_join(const Node* node, int region) {
  FusionRegion& r = regions_[static_cast<size_t>(region)];
  const bool has_room =
      r.most_operands + node->inputs.size() <= kMaxOperands || operands({region}, node) <= kMaxOperands;
  return r.nodes.size() < kMaxNodes && has_room && !creates_cycle({node}, {region}) &&
         std::none_of(readers(*node).begin(), readers(*node).end(),
                      [&](const Node* reader) { return is_in(*reader, r) && reads_other_elements(*reader, *node); }) &&
         joins(*node, r);
}

bool RegionFuser::reads_non_elementwise(const std::vector<const Node*>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* reader) {
    return std::any_of(reader->inputs.begin(), reader->inputs.end(), [&](const Expr& e) {
      return std::find(nodes.begin(), nodes.end(), &e.node()) != nodes.end() && reads_other_elements(*reader, e.node());
    });
  });
}

// Merges the other regions into regions[0], where that is possible: all read the same node.
void RegionFuser::merge_readers(const std::vector<int>& regions) {
  for (size_t i = 1; i < regions.size(); ++i) {
    FusionRegion &into = regions_[static_cast<size_t>(regions[0])], &from = regions_[static_cast<size_t>(regions[i])];
    std::vector<int> both{regions[0], regions[i]};
    if (into.nodes.size() + from.nodes.size() > kMaxNodes || !merges(into, from)) continue;
    std::vector<const Node*> nodes = into.nodes;
    nodes.insert(nodes.end(), from.nodes.begin(), from.nodes.end());
    const size_t reads = operands(both, nullptr);
    if (reads > kMaxOperands || creates_cycle(nodes, both) || reads_non_elementwise(nodes)) continue;
    for (const Node* node : from.nodes) locations_.at(node).region = regions[0];
    into.nodes = std::move(nodes);
    if (into.reduced.empty()) into.reduced = from.reduced;
    if (!into.main) into.main = from.main;
    into.most_operands = reads;
    from.nodes.clear();
  }
}

// Merges regions over the elements of a large array that all of them read.
void RegionFuser::merge_siblings() {
  for (const Node* node : order_) {
    if (locations_.at(node).region >= 0 || node->types.size() != 1 || !exceeds_cache(node->types[0], limits_)) continue;
    std::vector<int> siblings;
    for (const Node* reader : readers(*node))
      if (int region = locations_.at(reader).region;
          region >= 0 && regions_[static_cast<size_t>(region)].domain == node->types[0].dims)
        siblings.push_back(region);
    std::sort(siblings.begin(), siblings.end(), std::greater<>());
    siblings.erase(std::unique(siblings.begin(), siblings.end()), siblings.end());
    if (siblings.size() > 1) merge_readers(siblings);
  }
}

// A search along readers. A region counts as one node: a path that enters it may leave it from any of its nodes. Where
// the search takes too many steps the answer is yes.
bool RegionFuser::creates_cycle(const std::vector<const Node*>& nodes, const std::vector<int>& regions) const {
  constexpr size_t kMaxSteps = 400;
  auto is_member = [&](const Member& location) {
    return location.region >= 0 && std::find(regions.begin(), regions.end(), location.region) != regions.end();
  };
  std::vector<const Node*> stack;
  size_t visited = 0;
  ++traversal_;
  auto visit = [&](const Node* node, const Member& location) {
    if (std::exchange(seen_[location.position], traversal_) == traversal_) return;
    stack.push_back(node);
    ++visited;
  };
  for (const Node* node : nodes)
    for (const Node* reader : readers(*node))
      if (const Member& location = locations_.at(reader); !is_member(location)) visit(reader, location);
  while (!stack.empty()) {
    const Node* now = stack.back();
    stack.pop_back();
    const Member& location = locations_.at(now);
    if (is_member(location) || visited > kMaxSteps) return true;
    for (const Node* reader : readers(*now)) visit(reader, locations_.at(reader));
    if (location.region >= 0)  // all of its region runs together
      for (const Node* sibling : regions_[static_cast<size_t>(location.region)].nodes)
        visit(sibling, locations_.at(sibling));
  }
  return false;
}

// The number of values from outside that the regions would read with `with` in them. Scalar constants are none: their
// numbers are printed in the kernel.
size_t RegionFuser::operands(const std::vector<int>& regions, const Node* with) const {
  std::vector<const Expr*> seen;
  auto count = [&](const Node* node) {
    for (const Expr& e : node->inputs) {
      const int region = locations_.at(&e.node()).region;
      bool inside = region >= 0 && std::find(regions.begin(), regions.end(), region) != regions.end();
      if (&e.node() == with || inside || is_scalar_constant(e)) continue;
      if (std::none_of(seen.begin(), seen.end(), [&](const Expr* other) { return other->same(e); })) seen.push_back(&e);
    }
  };
  for (int region : regions)
    for (const Node* node : regions_[static_cast<size_t>(region)].nodes) count(node);
  if (with) count(with);
  return seen.size();
}

Expr RegionFuser::built(const Expr& old) const {
  const Built& built = built_.at(&old.node());
  return built.made ? Expr(built.made, old.output()) : built.outputs[old.output()];
}

// The new value of an old one. Iterative over regions and nodes.
Expr RegionFuser::build(const Expr& root) {
  std::vector<const Node*> stack{&root.node()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    if (built_.contains(node)) {
      stack.pop_back();
      continue;
    }
    const int region = locations_.at(node).region;
    bool ready = true;
    auto needs = [&](const Node& member) {
      for (const Expr& e : member.inputs) {
        const bool own = region >= 0 && locations_.at(&e.node()).region == region;
        if (own || built_.contains(&e.node())) continue;
        stack.push_back(&e.node());
        ready = false;
      }
    };
    if (region < 0)
      needs(*node);
    else
      for (const Node* member : regions_[static_cast<size_t>(region)].nodes) needs(*member);
    if (!ready) continue;
    stack.pop_back();
    if (region < 0)
      build_single(*node);
    else
      build_region(regions_[static_cast<size_t>(region)]);
  }
  return built(root);
}

void RegionFuser::build_single(const Node& node) {
  std::vector<Expr> inputs;
  bool changed = false;
  for (const Expr& e : node.inputs) {
    inputs.push_back(built(e));
    changed |= !inputs.back().same(e);
  }
  std::shared_ptr<const Node> made =
      changed ? clone_with_inputs(node, std::move(inputs), node.bodies) : node.self.lock();
  built_[&node].made = consing_.cons(made);
}

void RegionFuser::build_region(const FusionRegion& region) {
  InheritOrigin origin(region.nodes.back()->origin);
  const int number = locations_.at(region.nodes[0]).region;
  auto is_inside = [&](const Node* node) { return locations_.at(node).region == number; };
  std::vector<std::shared_ptr<const Node>> inner;  // of each node of the region, which are in topological order
  auto inner_of = [&](const Node* node) -> const std::shared_ptr<const Node>& {
    return inner[static_cast<size_t>(std::find(region.nodes.begin(), region.nodes.end(), node) - region.nodes.begin())];
  };
  auto body = std::make_shared<Graph>();
  std::vector<Expr> outer_inputs;
  std::vector<Reading> read;  // of each input of the body
  for (const Node* node : region.nodes) {
    std::vector<Expr> inputs;
    inputs.reserve(node->inputs.size());
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Expr& e = node->inputs[i];
      if (is_inside(&e.node())) {
        inputs.emplace_back(inner_of(&e.node()), e.output());
      } else if (is_scalar_constant(e)) {
        inputs.push_back(e);
      } else {
        const Access access = access_of(*node, i);
        const Reading now{&e, is_in_step(access) ? Access::kElement : access,
                          is_in_step(access) && is_of_slices(region, *node)};
        size_t k = 0;
        while (k < read.size() &&
               !(read[k].access == now.access && read[k].is_of_slices == now.is_of_slices && read[k].value->same(e)))
          ++k;
        if (k == read.size()) {
          read.push_back(now);
          outer_inputs.push_back(built(e));
          body->inputs.push_back(make_input(outer_inputs.back().type(), e.name()));
        }
        inputs.push_back(body->inputs[k]);
      }
    }
    inner.push_back(clone_with_inputs(*node, std::move(inputs), node->bodies));
  }
  // The outputs of the body: values that nodes outside the region read, in the region's order.
  std::vector<std::pair<const Node*, size_t>> results;
  for (const Node* node : region.nodes)
    if (is_root(*node) || !std::all_of(readers(*node).begin(), readers(*node).end(), is_inside))
      for (size_t o = 0; o < node->types.size(); ++o) results.emplace_back(node, o);
  for (const auto& [node, o] : results) body->outputs.emplace_back(inner_of(node), o);
  const std::shared_ptr<const Node> made = make(body, std::move(outer_inputs));
  for (const Node* node : region.nodes) built_[node].outputs.resize(node->types.size());
  for (size_t k = 0; k < results.size(); ++k) built_.at(results[k].first).outputs[results[k].second] = (*made)[k];
}

}  // namespace thtrain
