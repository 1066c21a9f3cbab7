// The gradient of a loop: the iterations backwards, each with the gradient of the body at the state that it began with.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr backwards(const Expr& sequence) {
  return subtensor(sequence, {Slice{.step = -1}});
}

Type element_of(Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}

// How many of the iterations the gradient goes back through, and the first of them.
struct Reach {
  Dim iterations, first;

  explicit Reach(const ScanParts& parts) : iterations(parts.count), first(0) {
    if (parts.truncate < 0 || parts.until) return;
    first = at_least_zero(parts.count - parts.truncate);
    iterations = parts.count - first;
  }
  bool is_all() const { return first.is(0); }
};

// Builds the backward loop. Its states are running cotangents of states and captures. An iteration gives, for each way
// in which the body reads a state, the cotangent of the value that it read. That of one iteration back is what the next
// iteration (the one before it in time) begins with; that of d iterations back is read d iterations later: a state with
// the delay d.
class Backward {
 public:
  explicit Backward(const GradientArgs& args)
      : a_(args), parts_(args.node), body_(without_effects(parts_.body)), reach_(parts_) {}

  std::vector<Expr> run() {
    cotangents_of_outputs();
    std::vector<Expr> inner = a_.differentiate(body_.outputs, body_cotangents_, body_.inputs);
    inner.resize(body_.inputs.size());
    // States that have derivatives are carried whether this iteration connects them or not.
    std::vector<Expr> next, idle;  // of the running cotangents, then of the sequences' elements
    for (size_t i = 0; i < parts_.states; ++i)
      for (size_t d = 0; d < carried_[i].size(); ++d) {
        const Expr& carried = carried_[i][d];
        next.push_back(cotangent_or_zeros(inner[parts_.body_state(i, d)], carried));
        idle.push_back(parts_.taps[i].is_plain() ? carried : zeros_like(carried));
      }
    std::vector<size_t> captures, sequences;
    for (size_t k = 0; k < parts_.captures; ++k)
      if (const Expr& d = inner[parts_.body_capture(k)]; d.has_value()) {
        const Expr sum = carry(zeros_like(a_.input(parts_.capture(k))), {}, "cotangent of a capture");
        captures.push_back(parts_.capture(k));
        next.push_back(typed_as(add(sum, d), sum.type()));
        idle.push_back(sum);
      }
    for (size_t k = 0; k < parts_.sequences; ++k)
      if (const Expr& d = inner[parts_.body_sequence(k)]; d.has_value()) {
        const Expr& element = body_.inputs[parts_.body_sequence(k)];
        sequences.push_back(parts_.sequence(k));
        next.push_back(typed_as(d, element.type()));
        idle.push_back(zeros_like(element));
      }
    made_ = loop(std::move(next), std::move(idle));

    std::vector<Expr> out(a_.node.inputs.size());
    size_t o = 0;
    for (size_t i = 0; i < parts_.states; ++i)
      if (!carried_[i].empty()) {
        out[i] = parts_.taps[i].is_plain() ? of_first_value(i, o) : of_first_values(i, o);
        o += carried_[i].size();
      }
    for (size_t input : captures) out[input] = made_[o++];
    o = 2 * initial_.size();  // past the last states and the histories
    for (size_t input : sequences) out[input] = from_first_iteration(backwards(made_[o++]));
    return out;
  }

 private:
  // A new state of the backward loop; gives what its body reads.
  Expr carry(const Expr& first, const StateTaps& taps, const char* name) {
    initial_.push_back(first);
    taps_.push_back(taps);
    states_.push_back(make_body_input(taps.is_plain() ? first.type() : element_of(first.type()), name));
    return states_.back();
  }
  // A new sequence, given in the order of the forward iterations; gives what the body reads.
  Expr walk(const Expr& sequence, const Dim& begin, Expr element) {
    sequences_.push_back(backwards(slice_of_axis(sequence, 0, begin + reach_.first, reach_.iterations)));
    elements_.push_back(std::move(element));
    return elements_.back();
  }

  static Expr cotangent_or_zeros(const Expr& cotangent, const Expr& like) {
    return cotangent.has_value() ? typed_as(cotangent, like.type()) : zeros_like(like);
  }

  // Of the body's outputs: what was carried back from later iterations, and what this iteration's slots of the outputs
  // get.
  void cotangents_of_outputs() {
    carried_.resize(parts_.states);
    histories_.resize(parts_.states);
    body_cotangents_.resize(body_.outputs.size());
    for (size_t i = 0; i < parts_.states; ++i) {
      if (!differentiable(a_.input(i).type())) continue;
      parts_.taps[i].is_plain() ? begin_plain(i) : begin_deep(i);
    }
    for (size_t k = 0; k < parts_.elements; ++k)
      if (const Expr& given = a_.cotangents[parts_.element(k)]; given.has_value())
        body_cotangents_[parts_.body_element(k)] =
            walk(given, 0, make_input(element_of(given.type()), "cotangent of an element"));
  }

  void begin_plain(size_t i) {
    const Expr &last = a_.cotangents[i], &history = a_.cotangents[parts_.history(i)];
    const Expr carried =
        carry(last.has_value() ? typed_as(last, a_.input(i).type()) : zeros_like(a_.input(i)), {}, "cotangent");
    carried_[i] = {carried};
    histories_[i] = history;
    body_cotangents_[i] = carried;
    if (history.has_value())
      body_cotangents_[i] = add(carried, walk(history, 1, make_input(a_.input(i).type(), "cotangent of a state")));
  }

  void begin_deep(size_t i) {
    const StateTaps& taps = parts_.taps[i];
    const Type value = a_.node.types[i];
    const Expr &last = a_.cotangents[i], &given = a_.cotangents[parts_.history(i)];
    for (int64_t delay : taps.delays) {
      Dims first = value.dims;
      if (delay > 1) first.insert(first.begin(), delay);
      carried_[i].push_back(carry(zeros(first, value.dtype), {{delay}}, "cotangent"));
      Expr& sum = body_cotangents_[i];
      sum = sum.has_value() ? add(sum, carried_[i].back()) : carried_[i].back();
    }
    if (last.has_value()) {
      const Expr all = given.has_value() ? given : zeros_like(a_.outputs[parts_.history(i)]);
      const Expr newest = parts_.until ? rows(all, add(a_.outputs[parts_.states - 1], taps.depth() - 1), 1)
                                       : slice_of_axis(all, 0, parts_.count + (taps.depth() - 1), 1);
      histories_[i] = inc_subtensor(newest, expand_dims(last, {0}));
    } else {
      histories_[i] = given;
    }
    if (histories_[i].has_value())
      body_cotangents_[i] =
          add(body_cotangents_[i], walk(histories_[i], taps.depth(), make_input(value, "cotangent of a state")));
  }

  // Values of the iterations that the gradient reaches, with zeros for those before.
  Expr from_first_iteration(const Expr& reached) const {
    if (reach_.is_all()) return reached;
    Dims before = reached.dims();
    before[0] = reach_.first;
    return join(0, {zeros(before, reached.dtype()), reached});
  }

  // The cotangent of the first value of a plain state: what is carried when all iterations are through, which a
  // truncated gradient may not reach.
  Expr of_first_value(size_t i, size_t o) const {
    Expr carried = made_[o];
    if (!reach_.is_all()) carried = subtensor(from_first_iteration(backwards(made_[initial_.size() + o])), {0});
    return histories_[i].has_value() ? add(carried, subtensor(histories_[i], {0})) : carried;
  }

  // Of the first values of a deep state: each delay d reads the newest d of them in its first d iterations, the last
  // ones of the backward loop.
  Expr of_first_values(size_t i, size_t o) const {
    const int64_t depth = parts_.taps[i].depth();
    Expr out = histories_[i].has_value() ? slice_of_axis(histories_[i], 0, 0, depth) : zeros_like(a_.input(i));
    for (size_t d = 0; d < carried_[i].size(); ++d) {
      const int64_t delay = parts_.taps[i].delays[d];
      const Expr all = from_first_iteration(backwards(made_[initial_.size() + o + d]));
      out = inc_subtensor(slice_of_axis(out, 0, depth - delay, delay), slice_of_axis(all, 0, 0, delay));
    }
    return out;
  }

  std::vector<Expr> loop(std::vector<Expr> next, std::vector<Expr> idle) {
    std::vector<Expr> captures, inside;  // values from outside, and what stands for them in the body
    const auto values = static_cast<std::ptrdiff_t>(next.size());
    const std::vector<Expr> lengths = needed_definitions(next, body_.effects);
    next.insert(next.end(), lengths.begin(), lengths.end());
    next = with_kept_values(next);
    add_forward_values(next, captures, inside);
    std::vector<Expr> defined(next.begin() + values, next.end());
    next.resize(static_cast<size_t>(values));
    if (parts_.until) {
      // An iteration that did not run, or that a truncated gradient does not reach, changes nothing: running cotangents
      // stay, elements get zeros.
      const Expr last = length(a_.outputs[parts_.history(parts_.states - 1)], 0) - 2;  // depth 1, counted from 0
      const Expr iteration = carry(last, {}, "iteration");
      const Expr iterations = make_input(a_.outputs[parts_.states - 1].type(), "iterations");
      // Beyond a truncated gradient's reach there is nothing to hand on.
      size_t of_states = 0;
      for (const std::vector<Expr>& carried : carried_) of_states += carried.size();
      for (size_t k = 0; parts_.truncate >= 0 && k < of_states; ++k)
        idle[k] = switch_(ge(iteration, iterations), idle[k], zeros_like(idle[k]));
      captures.push_back(a_.outputs[parts_.states - 1]);
      inside.push_back(iterations);
      auto then = std::make_shared<Graph>(), otherwise = std::make_shared<Graph>();
      std::vector<Expr> all = states_;
      all.insert(all.end(), elements_.begin(), elements_.end());
      all.insert(all.end(), inside.begin(), inside.end());
      then->inputs = otherwise->inputs = all;
      then->outputs = next;
      then->effects = std::exchange(defined, {});
      otherwise->outputs = std::move(idle);
      Expr runs = lt(iteration, iterations);
      if (parts_.truncate >= 0) runs = logical_and(runs, ge(iteration, sub(iterations, parts_.truncate)));
      next = make_if_else(runs, std::move(then), std::move(otherwise), std::move(all));
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(states_.size()) - 1, sub(iteration, 1));
    }
    auto body = std::make_shared<Graph>();
    body->outputs = std::move(next);
    body->effects = std::move(defined);
    std::vector<Expr> inputs = initial_;
    for (const auto* more : {&sequences_, &captures}) inputs.insert(inputs.end(), more->begin(), more->end());
    body->inputs = states_;
    for (const auto* more : {&elements_, &inside}) body->inputs.insert(body->inputs.end(), more->begin(), more->end());
    const std::string name = a_.node.props.get_or<std::string>("name", {});
    return make_scan({.count = reach_.iterations,
                      .taps = taps_,
                      .sequences = sequences_.size(),
                      .name = name.empty() ? name : str("gradient of ", name),
                      .unbatched = parts_.unbatched},
                     std::move(body), std::move(inputs));
  }

  // What the forward loop kept, the values that it gave in each iteration, is read and not computed again.
  std::vector<Expr> with_kept_values(const std::vector<Expr>& values) {
    std::unordered_set<const Node*> needed;
    for (const Node* node : topological_order(values)) needed.insert(node);
    std::vector<std::pair<Expr, Expr>> kept;
    auto keep = [&](const Expr& value, const Expr& all, const Dim& begin) {
      if (value.node().is_leaf() || value.node().op == &constant_op() || !needed.count(&value.node())) return;
      if (value.type().kind != TypeKind::kTensor) return;
      kept.emplace_back(value, walk(all, begin, make_input(value.type(), "kept")));
    };
    const std::vector<Expr> products = expensive_values(values);
    const std::vector<Expr> all = products.empty() ? products : forward_elements(products);
    for (size_t k = 0; k < products.size(); ++k) keep(products[k], all[k], 0);
    for (size_t i = 0; i < parts_.states; ++i)
      keep(body_.outputs[i], a_.outputs[parts_.history(i)], parts_.taps[i].depth());
    for (size_t k = 0; k < parts_.elements; ++k)
      keep(body_.outputs[parts_.body_element(k)], a_.outputs[parts_.element(k)], 0);
    return kept.empty() ? values : substitute(values, kept);
  }

  // Values of the forward body that the gradient reads, and that take a product to compute from what is kept anyway.
  std::vector<Expr> expensive_values(const std::vector<Expr>& values) const {
    if (parts_.until || parts_.token || parts_.unbatched || !body_.effects.empty()) return {};
    std::unordered_set<const Node*> kept, takes_product;
    for (size_t o = 0; o < parts_.states + parts_.elements; ++o) kept.insert(&body_.outputs[o].node());
    const std::vector<const Node*> forward = topological_order(body_.outputs);
    const std::unordered_set<const Node*> is_forward(forward.begin(), forward.end());
    for (const Node* node : forward) {
      if (kept.count(node)) continue;
      bool takes = node->op && node->op->iterations && node->op->iterations->pays;
      for (const Expr& input : node->inputs) takes = takes || takes_product.count(&input.node());
      if (takes) takes_product.insert(node);
    }
    std::vector<Expr> out;
    auto read = [&](const Expr& value) {
      const bool is_loop = !value.node().bodies.empty();  // its values of all its iterations: they are computed again
      if (!takes_product.count(&value.node()) || is_loop || value.type().kind != TypeKind::kTensor) return;
      if (std::none_of(out.begin(), out.end(), [&](const Expr& e) { return e.same(value); })) out.push_back(value);
    };
    for (const Node* node : topological_order(values))
      if (!is_forward.count(node))
        for (const Expr& input : node->inputs) read(input);
    for (const Expr& value : values) read(value);
    return out;
  }

  // These values of the forward body in all iterations: elements of a loop that is the forward one but for them. The
  // pass merge_loops makes one loop of the two.
  std::vector<Expr> forward_elements(const std::vector<Expr>& values) const {
    auto body = std::make_shared<Graph>(body_);
    body->outputs.insert(body->outputs.end(), values.begin(), values.end());
    std::vector<Expr> outputs = make_scan({.count = parts_.count,
                                           .taps = parts_.taps,
                                           .sequences = parts_.sequences,
                                           .truncate = parts_.truncate,
                                           .name = a_.node.props.get_or<std::string>("name", {})},
                                          std::move(body), a_.node.inputs);
    return {outputs.begin() + static_cast<std::ptrdiff_t>(parts_.element(parts_.elements)), outputs.end()};
  }

  // What the new body reads of the forward body's inputs: states from the histories, sequences, captures.
  void add_forward_values(const std::vector<Expr>& values, std::vector<Expr>& captures, std::vector<Expr>& inside) {
    std::unordered_set<const Node*> read;
    for (const Expr& leaf : leaves_of(values)) read.insert(&leaf.node());
    const std::vector<Expr>& inputs = body_.inputs;
    for (size_t i = 0; i < parts_.states; ++i)
      for (size_t d = 0; d < parts_.taps[i].delays.size(); ++d)
        if (const Expr& state = inputs[parts_.body_state(i, d)]; read.count(&state.node()))
          walk(a_.outputs[parts_.history(i)], parts_.taps[i].depth() - parts_.taps[i].delays[d], state);
    for (size_t k = 0; k < parts_.sequences; ++k)
      if (const Expr& element = inputs[parts_.body_sequence(k)]; read.count(&element.node()))
        walk(a_.input(parts_.sequence(k)), 0, element);
    for (size_t k = 0; k < parts_.captures; ++k)
      if (const Expr& capture = inputs[parts_.body_capture(k)]; read.count(&capture.node())) {
        captures.push_back(a_.input(parts_.capture(k)));
        inside.push_back(capture);
      }
    if (std::optional<Expr> kept = kept_for_effects(a_.node)) {
      captures.push_back(*kept);
      inside.push_back(make_input(kept->type(), "printed"));
    }
  }

  const GradientArgs& a_;
  const ScanParts parts_;
  const Graph body_;  // the iterations run again, and print nothing
  const Reach reach_;
  std::vector<std::vector<Expr>> carried_;  // for each state one for each delay; none: it has no derivative
  std::vector<Expr> histories_;         // the cotangents of the states' histories; empty where nothing depends on one
  std::vector<Expr> body_cotangents_;   // for each output of the body
  std::vector<Expr> initial_, states_;  // of the backward loop: outside, and in its body
  std::vector<StateTaps> taps_;         // of its states
  std::vector<Expr> sequences_, elements_;  // outside, and in its body
  std::vector<Expr> made_;                  // its outputs
};

}  // namespace

std::vector<Expr> scan_gradient(const GradientArgs& args) {
  return Backward(args).run();
}

}  // namespace thtrain
