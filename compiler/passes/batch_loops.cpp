#include "compiler/passes/batch_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/passes/accumulations.h"

namespace thtrain {
namespace {

bool contains(const std::vector<Expr>& values, const Expr& value) {
  return std::any_of(values.begin(), values.end(), [&](const Expr& e) { return e.same(value); });
}

// What an iteration adds to a state: a node of which the sum over the iterations is one computation, and what that
// needs.
struct Addend {
  const IterationsRule* rule;
  std::vector<Expr> needs;
};

std::optional<Addend> addend_of(const Expr& value) {
  const IterationsRule* rule = value.node().op->iterations;
  if (!rule || !rule->summed) return std::nullopt;
  std::vector<Expr> needs = rule->summed(value.node());
  return needs.empty() ? std::nullopt : std::optional<Addend>({rule, std::move(needs)});
}

// One loop, taken apart and put together again.
class LoopBatcher {
 public:
  LoopBatcher(const std::shared_ptr<const Node>& loop, const std::vector<bool>& is_read)
      : loop_(*loop),
        parts_(*loop),
        is_read_(is_read),
        before_(parts_.count,
                parts_.states > 0 ? OverIterations::Follows::kOneComputation : OverIterations::Follows::kByRules) {
    const std::vector<Expr>& inputs = parts_.body.inputs;
    for (size_t k = 0; k < parts_.sequences; ++k)
      before_.know(inputs[parts_.body_sequence(k)], loop_.inputs[parts_.sequence(k)], true);
    for (size_t k = 0; k < parts_.captures; ++k)
      before_.know(inputs[parts_.body_capture(k)], loop_.inputs[parts_.capture(k)], false);
    before_.find(parts_.body.outputs);
  }

  // The values of the loop's outputs; empty where nothing leaves it.
  std::vector<Expr> run() {
    find_accumulations();
    find_sums();
    find_elements();
    find_products();
    if (accumulated_.empty() && sums_.empty() && after_.empty() && products_.empty()) return {};
    make_loop();
    return outputs();
  }

 private:
  bool is_read(size_t output) const { return is_read_[output]; }
  const Expr& next(size_t state) const { return parts_.body.outputs[state]; }

  // ---- what leaves

  // States that only collect what follows from sequences: sums, products, extrema. What reads them leaves the loop too.
  void find_accumulations() {
    std::set<size_t> excluded;
    std::vector<std::pair<size_t, LoopAccumulation>> found;
    for (bool again = true; again;) {
      found.clear();
      OverIterations trial = before_;
      for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < parts_.states; ++i) {
          if (excluded.count(i) || holds(found, i)) continue;
          if (std::optional<LoopAccumulation> of_state = accumulation_in(trial, i)) {
            found.emplace_back(i, std::move(*of_state));
            trial.know(state(i), state(i), true);  // any value: only whether counts
            if (!trial.is_known(next(i))) trial.know(next(i), next(i), true);
            trial.find(parts_.body.outputs);
            more = true;
          }
        }
      }
      again = exclude_what_stays_needs(trial, found, excluded);
    }
    for (const auto& [i, of_state] : found) accumulate(i, of_state);
  }

  using Accumulations = std::vector<std::pair<size_t, LoopAccumulation>>;
  static bool holds(const Accumulations& found, size_t state) {
    return std::any_of(found.begin(), found.end(), [&](const auto& f) { return f.first == state; });
  }
  const Expr& state(size_t i) const { return parts_.body.inputs[parts_.body_state(i)]; }

  std::optional<LoopAccumulation> accumulation_in(const OverIterations& known, size_t i) const {
    if (!parts_.taps[i].is_plain()) return std::nullopt;
    std::optional<LoopAccumulation> out = accumulation_of(state(i), next(i));
    if (!out) return std::nullopt;
    const bool is_product = std::any_of(out->terms.begin(), out->terms.end(), [](const Expr& term) {
      return addend_of(term).has_value();  // summed without its terms
    });
    if (is_product || !std::all_of(out->terms.begin(), out->terms.end(),
                                   [&](const Expr& term) { return known.is_known(term) && known.varies(term); }))
      return std::nullopt;
    if (!is_read(parts_.history(i)) && !is_read_by_others(state(i), i) && !is_summed_as_read(*out, i))
      return std::nullopt;
    if (!out->has_running_values() &&
        (!parts_.count.is_at_least(1) || is_read(parts_.history(i)) || is_read_by_others(state(i), i)))
      return std::nullopt;
    return out;
  }

  // Are the terms collected while they are computed? A reduction over the first axis of longer values keeps all terms
  // in memory, which the loop does not.
  bool is_summed_as_read(const LoopAccumulation& of_state, size_t i) const {
    constexpr int64_t kFusedRow = 1024;  // fuse_reductions
    if (state(i).rank() == 0 || (parts_.count.is_known() && parts_.count.value() <= kFusedRow)) return true;
    return std::all_of(of_state.terms.begin(), of_state.terms.end(), [](const Expr& term) { return !computes(term); });
  }

  // What stays in the loop and reads such a state keeps it there.
  bool exclude_what_stays_needs(const OverIterations& known, const Accumulations& found,
                                std::set<size_t>& excluded) const {
    std::vector<Expr> staying;
    for (size_t i = 0; i < parts_.states; ++i)
      if (!holds(found, i)) staying.push_back(next(i));
    for (size_t k = 0; k < parts_.elements; ++k)
      if (const Expr& element = parts_.body.outputs[parts_.body_element(k)];
          !known.is_known(element) || !computes(element))
        staying.push_back(element);
    const std::vector<Expr> leaves = leaves_of(staying);
    bool any = false;
    for (const auto& [i, of_state] : found)
      if (contains(leaves, state(i))) any |= excluded.insert(i).second;
    return any;
  }

  void accumulate(size_t i, const LoopAccumulation& of_state) {
    std::vector<Expr> terms;
    before_.find(of_state.terms);
    for (const Expr& term : of_state.terms) terms.push_back(before_.all(term));
    Collected& out = accumulated_[i];
    const Type& type = state(i).type();
    InheritOrigin origin(loop_.origin);
    if (is_read(i)) out.last = typed_as(total(of_state, loop_.inputs[i], terms), type);
    if (!is_read(parts_.history(i)) && !is_read_by_others(state(i), i) && !is_element(next(i))) return;
    out.history = typed_as(running_values(of_state, loop_.inputs[i], terms), loop_.types[parts_.history(i)]);
    before_.know(state(i), slice_of_axis(out.history, 0, 0, parts_.count), true);
    before_.know(next(i), slice_of_axis(out.history, 0, 1, parts_.count), true);
    before_.find(parts_.body.outputs);
  }
  bool is_element(const Expr& value) const {
    for (size_t k = 0; k < parts_.elements; ++k)
      if (parts_.body.outputs[parts_.body_element(k)].same(value)) return true;
    return false;
  }

  // States to which each iteration adds products: nobody reads them inside, and their values of the iterations nobody
  // outside.
  void find_sums() {
    for (size_t i = 0; i < parts_.states; ++i) {
      if (accumulated_.count(i) || !parts_.taps[i].is_plain() || is_read(parts_.history(i)) || !is_read(i)) continue;
      if (is_read_by_others(state(i), i)) continue;
      const std::optional<LoopAccumulation> sum = accumulation_of(state(i), next(i));
      if (!sum || !sum->has_running_values()) continue;
      std::vector<Addend> addends;
      for (const Expr& term : sum->terms)
        if (std::optional<Addend> addend = addend_of(term)) addends.push_back(*addend);
      if (addends.size() == sum->terms.size()) sums_.emplace_back(i, addends);
    }
    for (const auto& [i, addends] : sums_)
      for (const Addend& addend : addends)
        for (const Expr& side : addend.needs) {
          before_.find({side});
          if (!before_.is_known(side) && !contains(given_, side)) given_.push_back(side);
        }
  }

  bool is_read_by_others(const Expr& state, size_t own) const {
    std::vector<Expr> others;
    for (size_t o = 0; o < parts_.body.outputs.size(); ++o)
      if (o != own) others.push_back(parts_.body.outputs[o]);
    const std::vector<Expr> leaves = leaves_of(others);
    return contains(leaves, state);
  }

  // Is the state computed outside the loop?
  bool has_left(size_t state) const {
    return accumulated_.count(state) ||
           std::any_of(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.first == state; });
  }

  // Elements that follow from sequences alone, and products of what the loop's states will have been.
  void find_elements() {
    OverIterations from_states = before_;
    for (size_t i = 0; i < parts_.states; ++i) {
      if (has_left(i)) continue;
      for (size_t d = 0; d < parts_.taps[i].delays.size(); ++d)
        from_states.know(parts_.body.inputs[parts_.body_state(i, d)], next(i), true);  // any value: only whether counts
      if (!from_states.is_known(next(i))) from_states.know(next(i), next(i), true);
    }
    from_states.find(parts_.body.outputs);
    for (size_t k = 0; k < parts_.elements; ++k) {
      const Expr& element = parts_.body.outputs[parts_.body_element(k)];
      if (!is_read(parts_.element(k))) continue;
      const bool is_map = before_.is_known(element) && computes(element);
      const bool is_product = from_states.is_known(element) && from_states.pays(element);
      if (is_map || is_product) after_.push_back(k);
    }
  }
  static bool computes(const Expr& value) { return !value.node().is_leaf() && value.node().op != &constant_op(); }

  // What the iterations that stay need of products that follow from sequences.
  void find_products() {
    const std::vector<Expr> roots = staying_roots();
    auto take = [&](const Expr& value) {
      if (before_.is_known(value) && before_.varies(value) && before_.pays(value) && !contains(products_, value))
        products_.push_back(value);
    };
    for (const Expr& root : roots) take(root);
    for (const Node* node : topological_order(roots))
      for (size_t o = 0; o < node->types.size(); ++o)
        if (!before_.is_known((*node)[o])) {
          for (const Expr& input : node->inputs) take(input);
          break;
        }
  }

  std::vector<Expr> staying_roots() const {
    std::vector<Expr> out;
    for (size_t i = 0; i < parts_.states; ++i)
      if (!has_left(i)) out.push_back(next(i));
    for (size_t k = 0; k < parts_.elements; ++k)
      if (stays(k)) out.push_back(parts_.body.outputs[parts_.body_element(k)]);
    std::copy_if(given_.begin(), given_.end(), std::back_inserter(out),
                 [&](const Expr& value) { return !element_of(value); });
    return out;
  }
  bool stays(size_t element) const { return std::find(after_.begin(), after_.end(), element) == after_.end(); }
  // The element that stays and is that value already.
  std::optional<size_t> element_of(const Expr& value) const {
    for (size_t k = 0; k < parts_.elements; ++k)
      if (stays(k) && parts_.body.outputs[parts_.body_element(k)].same(value)) return k;
    return std::nullopt;
  }

  // ---- the loop without it

  void make_loop() {
    std::vector<Expr> roots = staying_roots();
    std::vector<std::pair<Expr, Expr>> replaced;
    std::vector<Expr> body_inputs, inputs;
    std::vector<StateTaps> taps;
    for (size_t i = 0; i < parts_.states; ++i) {
      if (has_left(i)) continue;
      new_state_[i] = taps.size();
      taps.push_back(parts_.taps[i]);
      inputs.push_back(loop_.inputs[i]);
      for (size_t d = 0; d < parts_.taps[i].delays.size(); ++d)
        body_inputs.push_back(parts_.body.inputs[parts_.body_state(i, d)]);
    }
    if (roots.empty()) return;  // nothing stays
    for (const Expr& product : products_) {
      replaced.emplace_back(product, make_input(product.type(), product.name().empty() ? "product" : product.name()));
      before_.all(product);
    }
    roots = substitute(roots, replaced);
    std::unordered_set<const Node*> read;
    for (const Expr& leaf : leaves_of(roots)) read.insert(&leaf.node());
    size_t sequences = 0;
    auto add_sequence = [&](const Expr& in_body, const Expr& outside) {
      if (!read.contains(&in_body.node())) return;
      body_inputs.push_back(in_body);
      inputs.push_back(outside);
      ++sequences;
    };
    for (size_t k = 0; k < parts_.sequences; ++k)
      add_sequence(parts_.body.inputs[parts_.body_sequence(k)], loop_.inputs[parts_.sequence(k)]);
    for (size_t k = 0; k < products_.size(); ++k) add_sequence(replaced[k].second, before_.all(products_[k]));
    for (size_t k = 0; k < parts_.captures; ++k) {
      const Expr& capture = parts_.body.inputs[parts_.body_capture(k)];
      if (!read.contains(&capture.node())) continue;
      body_inputs.push_back(capture);
      inputs.push_back(loop_.inputs[parts_.capture(k)]);
    }
    auto body = std::make_shared<Graph>();
    body->inputs = std::move(body_inputs);
    body->outputs = std::move(roots);
    InheritOrigin origin(loop_.origin);
    made_ = make_scan({.count = parts_.count,
                       .taps = std::move(taps),
                       .sequences = sequences,
                       .truncate = parts_.truncate,
                       .name = loop_.props.get_or<std::string>("name", {})},
                      std::move(body), std::move(inputs));
  }

  // ---- what it gives

  Expr history_of(size_t state, const Dim& begin) const {
    return slice_of_axis(made_[new_state_.size() + new_state_.at(state)], 0, begin, parts_.count);
  }

  std::vector<Expr> outputs() {
    InheritOrigin origin(loop_.origin);
    OverIterations all = before_;
    for (const auto& [i, index] : new_state_) {
      const StateTaps& taps = parts_.taps[i];
      for (size_t d = 0; d < taps.delays.size(); ++d)
        all.know(parts_.body.inputs[parts_.body_state(i, d)], history_of(i, taps.depth() - taps.delays[d]), true);
      if (!before_.is_known(next(i))) all.know(next(i), history_of(i, taps.depth()), true);
    }
    std::vector<Expr> out = outputs_of(loop_);
    for (const auto& [i, index] : new_state_) {
      out[i] = made_[index];
      out[parts_.history(i)] = made_[new_state_.size() + index];
    }
    size_t element = 2 * new_state_.size();
    for (size_t k = 0; k < parts_.elements; ++k)
      if (stays(k)) out[parts_.element(k)] = made_[element++];
    for (const Expr& value : given_) {
      const std::optional<size_t> given = element_of(value);
      all.know(value, given ? out[parts_.element(*given)] : made_[element++], true);
    }
    all.find(parts_.body.outputs);
    for (size_t k : after_)
      out[parts_.element(k)] =
          typed_as(all.all(parts_.body.outputs[parts_.body_element(k)]), loop_.types[parts_.element(k)]);
    for (const auto& [i, values] : accumulated_) {
      if (values.last.has_value()) out[i] = values.last;
      if (values.history.has_value()) out[parts_.history(i)] = values.history;
    }
    for (const auto& [i, addends] : sums_) {
      Expr sum = loop_.inputs[i];
      for (const Addend& addend : addends) sum = add(sum, sum_of(all, addend));
      out[i] = typed_as(sum, loop_.types[i]);
    }
    return out;
  }

  Expr sum_of(OverIterations& all, const Addend& addend) {
    std::vector<Expr> values;
    for (const Expr& needed : addend.needs) {
      all.find({needed});
      values.push_back(all.all(needed));
    }
    return addend.rule->sum(parts_.count, in_one_order(std::move(values)));
  }

  const Node& loop_;
  const ScanParts parts_;
  const std::vector<bool>& is_read_;
  OverIterations before_;
  struct Collected {
    Expr last, history;  // those that are needed
  };
  std::map<size_t, Collected> accumulated_;                   // states
  std::vector<std::pair<size_t, std::vector<Addend>>> sums_;  // states
  std::vector<Expr> given_;                                   // in the body: elements that the sums need
  std::vector<size_t> after_;                                 // elements
  std::vector<Expr> products_;                                // in the body: sequences from now on
  std::map<size_t, size_t> new_state_;                        // of those that stay
  std::vector<Expr> made_;                                    // outputs of the new loop
};

}  // namespace

Graph batch_loops(const Graph& graph, const PassContext& context) {
  const NodeMap<std::vector<bool>> read = outputs_read(graph, scan_op());
  if (read.size() == 0) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &scan_op()) return {};
    if (const ScanParts parts(node); parts.until || parts.token || parts.unbatched || !parts.body.effects.empty())
      return {};
    InheritOrigin origin(node.origin);
    const std::shared_ptr<const Node> loop = clone_with_inputs(node, inputs, node.bodies);
    const std::vector<bool>& is_read = read.at(&node);
    const std::vector<Expr> batched = LoopBatcher(loop, is_read).run();
    for (size_t o = 0; o < batched.size(); ++o)
      if (is_read[o]) context.note("batch_loops", "batch_loops", Expr(loop, o), batched[o], Safety::kReassociating);
    return batched;
  });
}

}  // namespace thtrain
