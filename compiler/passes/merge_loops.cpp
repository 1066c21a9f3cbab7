#include "compiler/passes/merge_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/scan_parts.h"

namespace thtrain {
namespace {

using Key = std::pair<const Node*, size_t>;

Key key(const Expr& value) {
  return {&value.node(), value.output()};
}

using Loop = std::shared_ptr<const Node>;

// Nodes of a body that compute something.
size_t work_of(const std::vector<Expr>& outputs) {
  const std::vector<const Node*> order = topological_order(outputs);
  return static_cast<size_t>(std::count_if(order.begin(), order.end(), [](const Node* node) {
    return !node->is_leaf() && node->op != &constant_op() && !is_view((*node)[0]);
  }));
}

// The loop with a body of its own. Loops may share one: a loop that `substitute` copies does, with other inputs.
Loop with_own_body(const Node& loop) {
  const Graph& body = *loop.bodies[0];
  std::vector<std::pair<Expr, Expr>> renamed;
  for (const Expr& input : body.inputs) renamed.emplace_back(input, make_body_input(input.type(), input.name()));
  Graph own = substitute(body, renamed);
  for (size_t i = 0; i < renamed.size(); ++i) own.inputs.at(i) = renamed[i].second;
  return clone_with_inputs(loop, loop.inputs, {std::make_shared<const Graph>(std::move(own))});
}

// Several loops as one, of which equal parts are one.
class JoinedLoops {
 public:
  explicit JoinedLoops(std::vector<Loop> loops) : given_(std::move(loops)) {
    for (const Loop& loop : given_) loops_.push_back(with_own_body(*loop));
    for (const Loop& loop : loops_) parts_.emplace_back(*loop);
    for (size_t l = 0; l < loops_.size(); ++l) {
      for (size_t k = 0; k < parts_[l].sequences; ++k)
        add_outside(l, parts_[l].body_sequence(k), parts_[l].sequence(k), sequences_);
      for (size_t k = 0; k < parts_[l].captures; ++k)
        add_outside(l, parts_[l].body_capture(k), parts_[l].capture(k), captures_);
    }
    find_classes();
  }

  // Of an iteration: its states and what it computes.
  size_t work() const { return first_of_.size() + work_of(outputs_); }
  bool saves_anything() const {
    size_t inputs = 0, outputs = 0;
    for (const ScanParts& parts : parts_) {
      inputs += parts.states + parts.sequences + parts.captures;
      outputs += parts.states + parts.elements;
    }
    return first_of_.size() + sequences_.size() + captures_.size() < inputs || outputs_.size() < outputs;
  }

  // What stands for each output of each loop.
  std::vector<std::pair<Expr, Expr>> made() const {
    auto body = std::make_shared<Graph>();
    std::vector<Expr> inputs;
    std::vector<StateTaps> taps;
    for (const auto& [l, i] : first_of_) {
      taps.push_back(parts_[l].taps[i]);
      inputs.push_back(loops_[l]->inputs[i]);
      for (size_t d = 0; d < taps.back().delays.size(); ++d)
        body->inputs.push_back(parts_[l].body.inputs[parts_[l].body_state(i, d)]);
    }
    for (const auto* more : {&sequences_, &captures_})
      for (const auto& [outside, in_body] : *more) {
        inputs.push_back(outside);
        body->inputs.push_back(in_body);
      }
    body->outputs = outputs_;
    InheritOrigin origin(loops_[0]->origin);
    const std::vector<Expr> outputs = make_scan({.count = parts_[0].count,
                                                 .taps = std::move(taps),
                                                 .sequences = sequences_.size(),
                                                 .truncate = parts_[0].truncate,
                                                 .name = name(),
                                                 .unbatched = parts_[0].unbatched},
                                                std::move(body), std::move(inputs));
    std::vector<std::pair<Expr, Expr>> out;
    const size_t states = first_of_.size();
    for (size_t l = 0; l < loops_.size(); ++l) {
      for (size_t i = 0; i < parts_[l].states; ++i) {
        const size_t state = classes_.at({l, i});
        out.emplace_back(Expr(given_[l], i), outputs[state]);
        out.emplace_back(Expr(given_[l], parts_[l].history(i)), outputs[states + state]);
      }
      for (size_t k = 0; k < parts_[l].elements; ++k)
        out.emplace_back(Expr(given_[l], parts_[l].element(k)), outputs[2 * states + elements_.at({l, k})]);
    }
    return out;
  }

 private:
  using Location = std::pair<size_t, size_t>;         // of a loop, and in it
  using Inputs = std::vector<std::pair<Expr, Expr>>;  // outside, in the body

  void add_outside(size_t l, size_t in_body, size_t input, Inputs& inputs) {
    const Expr &outside = loops_[l]->inputs[input], &own = parts_[l].body.inputs[in_body];
    auto found = std::find_if(inputs.begin(), inputs.end(), [&](const auto& e) { return e.first.same(outside); });
    if (found == inputs.end())
      inputs.emplace_back(outside, own);
    else
      replaced_.emplace_back(own, found->second);
  }

  // States that begin alike are supposed to be equal, until one goes on otherwise than the others.
  void find_classes() {
    std::map<std::pair<Key, std::vector<int64_t>>, size_t> first;
    for (size_t l = 0; l < loops_.size(); ++l)
      for (size_t i = 0; i < parts_[l].states; ++i) {
        auto [at, is_new] = first.emplace(std::pair(key(loops_[l]->inputs[i]), parts_[l].taps[i].delays), first.size());
        if (is_new) first_of_.push_back({l, i});
        classes_[{l, i}] = at->second;
      }
    size_t before;
    do {
      before = first_of_.size();
      rebuild();
      std::map<std::pair<size_t, Key>, size_t> next;
      first_of_.clear();
      for (auto& [index, of_state] : classes_) {
        auto [at, is_new] = next.emplace(std::pair(of_state, key(values_[index.first][index.second])), next.size());
        if (is_new) first_of_.push_back(index);
        of_state = at->second;
      }
    } while (first_of_.size() > before);
    for (const Location& index : first_of_) outputs_.push_back(values_[index.first][index.second]);
    std::map<Key, size_t> known;
    for (size_t l = 0; l < loops_.size(); ++l)
      for (size_t k = 0; k < parts_[l].elements; ++k) {
        const Expr& element = values_[l][parts_[l].body_element(k)];
        auto [at, is_new] = known.emplace(key(element), known.size());
        if (is_new) outputs_.push_back(element);
        elements_[{l, k}] = at->second;
      }
  }

  // The outputs of the bodies, in which the first state of each class stands for the others.
  void rebuild() {
    Rebuilder rebuilder;
    for (const auto& [own, other] : replaced_) rebuilder.replace(own, other);
    for (const auto& [index, of_state] : classes_) {
      const Location& first = first_of_[of_state];
      if (first == index) continue;
      const ScanParts &own = parts_[index.first], &other = parts_[first.first];
      for (size_t d = 0; d < own.taps[index.second].delays.size(); ++d)
        rebuilder.replace(own.body.inputs[own.body_state(index.second, d)],
                          other.body.inputs[other.body_state(first.second, d)]);
    }
    values_.clear();
    for (const ScanParts& parts : parts_) values_.push_back(rebuilder.rebuild(parts.body.outputs, nullptr));
  }

  std::string name() const {
    std::vector<std::string> names;
    for (const Loop& loop : loops_)
      if (const auto own = loop->props.get_or<std::string>("name", {});
          !own.empty() && std::find(names.begin(), names.end(), own) == names.end())
        names.push_back(own);
    return join(names, ", ", [](const std::string& n) { return n; });
  }

  const std::vector<Loop> given_;
  std::vector<Loop> loops_;  // the same, with bodies of their own
  std::vector<ScanParts> parts_;
  Inputs sequences_, captures_;
  std::vector<std::pair<Expr, Expr>> replaced_;  // sequences and captures of the bodies that stand for others
  std::map<Location, size_t> classes_;           // of states
  std::vector<Location> first_of_;               // the first state of each class
  std::map<Location, size_t> elements_;          // the element that stands for each
  std::vector<std::vector<Expr>> values_;        // rebuilt outputs of each body
  std::vector<Expr> outputs_;                    // of the joined body
};

bool can_join(const Node& node) {
  if (node.op != &scan_op()) return false;
  const ScanParts parts(node);
  return !parts.until && !parts.token && parts.body.effects.empty();
}

bool have_common_input(const Loop& a, const Loop& b) {
  return std::any_of(a->inputs.begin(), a->inputs.end(), [&](const Expr& x) {
    return std::any_of(b->inputs.begin(), b->inputs.end(), [&](const Expr& y) { return x.same(y); });
  });
}

// Loops of one depth: none needs another. Gives what stands for the outputs of those that change.
std::vector<std::pair<Expr, Expr>> joined(const std::vector<Loop>& loops) {
  std::vector<std::vector<Loop>> groups;
  for (const Loop& loop : loops) {
    auto fits = [&](std::vector<Loop>& group) {
      const ScanParts a(*group[0]), b(*loop);
      if (!(a.count == b.count) || a.truncate != b.truncate || a.unbatched != b.unbatched) return false;
      if (std::none_of(group.begin(), group.end(), [&](const Loop& g) { return have_common_input(g, loop); }))
        return false;
      std::vector<Loop> all = group;
      all.push_back(loop);
      return JoinedLoops(all).work() < JoinedLoops(group).work() + JoinedLoops({loop}).work();
    };
    auto found = std::find_if(groups.begin(), groups.end(), fits);
    found == groups.end() ? groups.push_back({loop}) : found->push_back(loop);
  }
  std::vector<std::pair<Expr, Expr>> out;
  for (std::vector<Loop>& group : groups) {
    const JoinedLoops all(group);
    if (group.size() == 1 && !all.saves_anything()) continue;
    for (auto& pair : all.made()) out.push_back(std::move(pair));
  }
  return out;
}

// The loops of this graph, not those inside, by how many loops precede each.
std::map<size_t, std::vector<Loop>> loops_by_depth(const Graph& graph) {
  NodeMap<size_t> depth;
  std::map<size_t, std::vector<Loop>> out;
  for (const Node* node : topological_order(graph.roots())) {
    size_t before = 0;
    for (const Expr& input : node->inputs) before = std::max(before, depth[&input.node()]);
    depth[node] = before + (node->op == &scan_op());
    if (can_join(*node)) out[before].push_back(node->self.lock());
  }
  return out;
}

}  // namespace

Graph merge_loops(const Graph& graph, const PassContext& context) {
  Graph out = graph;
  for (size_t level = 0;; ++level) {
    const std::map<size_t, std::vector<Loop>> loops = loops_by_depth(out);
    const auto at = loops.lower_bound(level);
    if (at == loops.end()) return out;
    level = at->first;
    const std::vector<std::pair<Expr, Expr>> replaced = joined(at->second);
    if (replaced.empty()) continue;
    for (const auto& [before, after] : replaced)
      context.note("merge_loops", "merge_loops", before, after, Safety::kExact);
    out = substitute(out, replaced);
  }
}

}  // namespace thtrain
