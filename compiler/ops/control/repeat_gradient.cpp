// The gradient of a loop: the turns backwards, each with the gradient of the body at the state that it began with.
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool has_derivative(const Type& type) {
  return type.kind == TypeKind::kTensor && (is_float(type.dtype) || is_complex(type.dtype));
}

Expr backwards(const Expr& sequence) {
  return subtensor(sequence, {Slice{.step = -1}});
}

Type element_of(Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}

// Builds the backward loop. Its states are running cotangents: of the state before the turn, and of the captures.
class Backward {
 public:
  explicit Backward(const GradientArgs& args) : a_(args), parts_(args.node), body_(without_effects(parts_.body)) {}

  std::vector<Expr> run() {
    cotangents_of_outputs();
    std::vector<Expr> inner = a_.differentiate(body_.outputs, body_cotangents_, body_.inputs);
    inner.resize(a_.node.inputs.size());
    // States that have derivatives are carried whether this turn connects them or not.
    std::vector<Expr> next, zero;  // of the running cotangents, then of the sequences' elements
    for (size_t i = 0; i < parts_.states; ++i)
      if (carried_[i].has_value()) {
        next.push_back(cotangent_or_zeros(inner[i], carried_[i]));
        zero.push_back(carried_[i]);
      }
    std::vector<size_t> captures, sequences;
    for (size_t k = 0; k < parts_.captures; ++k)
      if (const Expr& d = inner[parts_.capture(k)]; d.has_value()) {
        const Expr sum = carry(zeros_like(a_.input(parts_.capture(k))), "cotangent of a capture");
        captures.push_back(parts_.capture(k));
        next.push_back(typed_as(add(sum, d), sum.type()));
        zero.push_back(sum);
      }
    for (size_t k = 0; k < parts_.sequences; ++k)
      if (const Expr& d = inner[parts_.sequence(k)]; d.has_value()) {
        const Expr& element = body_.inputs[parts_.sequence(k)];
        sequences.push_back(parts_.sequence(k));
        next.push_back(typed_as(d, element.type()));
        zero.push_back(zeros_like(element));
      }
    const std::vector<Expr> made = loop(std::move(next), std::move(zero));

    std::vector<Expr> out(a_.node.inputs.size());
    size_t o = 0;
    for (size_t i = 0; i < parts_.states; ++i)
      if (carried_[i].has_value()) {
        const Expr& history = a_.cotangents[parts_.history(i)];
        out[i] = history.has_value() ? add(made[o], subtensor(history, {0})) : made[o];
        ++o;
      }
    for (size_t input : captures) out[input] = made[o++];
    o = 2 * initial_.size();  // past the last states and the histories
    for (size_t input : sequences) out[input] = backwards(made[o++]);
    return out;
  }

 private:
  // A new state of the backward loop; gives what its body reads.
  Expr carry(const Expr& first, const char* name) {
    initial_.push_back(first);
    states_.push_back(make_body_input(first.type(), name));
    return states_.back();
  }
  // A new sequence, given in the order of the forward turns; gives what the body reads.
  Expr walk(const Expr& sequence, Expr element) {
    sequences_.push_back(backwards(sequence));
    elements_.push_back(std::move(element));
    return elements_.back();
  }

  static Expr cotangent_or_zeros(const Expr& cotangent, const Expr& like) {
    return cotangent.has_value() ? typed_as(cotangent, like.type()) : zeros_like(like);
  }

  // Of the body's outputs: what was carried back from the turn after, and what this turn's slots of the outputs get.
  void cotangents_of_outputs() {
    carried_.resize(parts_.states);
    body_cotangents_.resize(body_.outputs.size());
    for (size_t i = 0; i < parts_.states; ++i) {
      if (!has_derivative(a_.input(i).type())) continue;
      const Expr &last = a_.cotangents[i], &history = a_.cotangents[parts_.history(i)];
      carried_[i] = carry(last.has_value() ? typed_as(last, a_.input(i).type()) : zeros_like(a_.input(i)), "cotangent");
      body_cotangents_[i] = carried_[i];
      if (history.has_value())
        body_cotangents_[i] = add(carried_[i], walk(slice_of_axis(history, 0, 1, parts_.count),
                                                    make_input(a_.input(i).type(), "cotangent of a state")));
    }
    for (size_t k = 0; k < parts_.elements; ++k)
      if (const Expr& given = a_.cotangents[parts_.element(k)]; given.has_value())
        body_cotangents_[parts_.body_element(k)] =
            walk(given, make_input(element_of(given.type()), "cotangent of an element"));
  }

  std::vector<Expr> loop(std::vector<Expr> next, std::vector<Expr> zero) {
    std::vector<Expr> captures, inside;  // values from outside, and what stands for them in the body
    add_forward_values(next, captures, inside);
    if (parts_.until) {
      // A turn that did not run changes nothing: the running cotangents stay, its elements get zeros.
      const Expr turn = carry(make_constant(Tensor(parts_.count - 1)), "turn");
      const Expr turns = make_input(a_.outputs[parts_.states - 1].type(), "turns");
      captures.push_back(a_.outputs[parts_.states - 1]);
      inside.push_back(turns);
      auto then = std::make_shared<Graph>(), otherwise = std::make_shared<Graph>();
      std::vector<Expr> all = states_;
      all.insert(all.end(), elements_.begin(), elements_.end());
      all.insert(all.end(), inside.begin(), inside.end());
      then->inputs = otherwise->inputs = all;
      then->outputs = next;
      otherwise->outputs = std::move(zero);
      next = make_if_else(lt(turn, turns), std::move(then), std::move(otherwise), std::move(all));
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(states_.size()) - 1, sub(turn, 1));
    }
    auto body = std::make_shared<Graph>();
    body->outputs = std::move(next);
    std::vector<Expr> inputs = initial_;
    for (const auto* more : {&sequences_, &captures}) inputs.insert(inputs.end(), more->begin(), more->end());
    body->inputs = states_;
    for (const auto* more : {&elements_, &inside}) body->inputs.insert(body->inputs.end(), more->begin(), more->end());
    return make_repeat({.count = parts_.count, .states = states_.size(), .sequences = sequences_.size()},
                       std::move(body), std::move(inputs));
  }

  // What the new body reads of the forward body's inputs: states from the histories, sequences, captures.
  void add_forward_values(const std::vector<Expr>& values, std::vector<Expr>& captures, std::vector<Expr>& inside) {
    std::unordered_set<const Node*> read;
    for (const Expr& leaf : leaves_of(values)) read.insert(&leaf.node());
    const std::vector<Expr>& inputs = body_.inputs;
    for (size_t i = 0; i < parts_.states; ++i)
      if (read.count(&inputs[i].node()))
        walk(slice_of_axis(a_.outputs[parts_.history(i)], 0, 0, parts_.count), inputs[i]);
    for (size_t k = 0; k < parts_.sequences; ++k)
      if (const Expr& element = inputs[parts_.sequence(k)]; read.count(&element.node()))
        walk(a_.input(parts_.sequence(k)), element);
    for (size_t k = 0; k < parts_.captures; ++k)
      if (const Expr& capture = inputs[parts_.capture(k)]; read.count(&capture.node())) {
        captures.push_back(a_.input(parts_.capture(k)));
        inside.push_back(capture);
      }
    if (std::optional<Expr> kept = kept_for_effects(a_.node)) {
      captures.push_back(*kept);
      inside.push_back(make_input(kept->type(), "printed"));
    }
  }

  const GradientArgs& a_;
  const RepeatParts parts_;
  const Graph body_;                        // the turns run again, and print nothing
  std::vector<Expr> carried_;               // for each state; empty: it has no derivative
  std::vector<Expr> body_cotangents_;       // for each output of the body
  std::vector<Expr> initial_, states_;      // of the backward loop: outside, and in its body
  std::vector<Expr> sequences_, elements_;  // the same
};

}  // namespace

std::vector<Expr> repeat_gradient(const GradientArgs& args) {
  return Backward(args).run();
}

}  // namespace thtrain
