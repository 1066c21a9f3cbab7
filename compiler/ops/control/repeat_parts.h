// The parts of a `repeat` node: which inputs and outputs are what.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// Inputs of the node and of its body: states, sequences (the node has [count, ...], the body one element of it),
/// captures. Outputs of the body: the next states, elements, and where `until` is set whether the loop ends. Outputs of
/// the node: the last states; histories, each [count + 1, ...], the states before the first turn and after each;
/// elements, each [count, ...]. With `until` the last state counts the turns, and what histories and elements hold of
/// turns that did not run is not defined. Where the body carries a token (ir/effects.h), it is the last input and
/// output of both.
struct RepeatParts {
  int64_t count;
  size_t states, sequences, captures, elements;
  bool until, token;
  const Graph& body;

  explicit RepeatParts(const Node& node);

  size_t history(size_t state) const { return states + state; }      // an output
  size_t element(size_t k) const { return 2 * states + k; }          // an output
  size_t sequence(size_t k) const { return states + k; }             // an input
  size_t capture(size_t k) const { return states + sequences + k; }  // an input
  size_t body_element(size_t k) const { return states + k; }         // an output of the body
  size_t body_token() const { return states + elements + until; }    // an output of the body
  size_t body_done() const { return states + elements; }             // an output of the body
};

struct RepeatShape {
  int64_t count;
  size_t states, sequences = 0;
  bool until = false;
};

/// The node's outputs; `inputs` are states, sequences and captures.
std::vector<Expr> make_repeat(const RepeatShape& shape, GraphPtr body, std::vector<Expr> inputs,
                              const std::source_location& where = std::source_location::current());

/// The gradient: one loop over the turns from the last to the first, which reads the histories. Op::gradient.
std::vector<Expr> repeat_gradient(const GradientArgs& args);

/// Forward mode: the loop with tangents as further states, sequences, captures and elements. Op::jvp.
std::vector<Expr> repeat_jvp(const JvpArgs& args);

}  // namespace thtrain
