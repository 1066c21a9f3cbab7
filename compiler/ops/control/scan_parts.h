// The parts of a `scan` node: which inputs and outputs are what.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {

/// How a loop reads one of its states: the values of the iterations so many before. A state that is read one iteration
/// back is `plain`: its first value has the type of a value. Of any other the first values are along an axis in
/// front, the oldest first, as many as the longest way back.
struct StateTaps {
  std::vector<int64_t> delays = {1};  // each 1 or more, in the order in which the body takes them

  bool is_plain() const { return delays.size() == 1 && delays[0] == 1; }
  /// The longest way back: how many values the state begins with.
  int64_t depth() const;
};

/// Inputs of the node: states (their first values), sequences [count, ...], captures. Inputs of its body: for each
/// state one value for each of its delays, an element of each sequence, captures. Outputs of the body: the next value
/// of each state, elements, and where `until` is set whether the loop ends. Outputs of the node: the last value of each
/// state; histories, each [depth + count, ...], the first values and those after each iteration; elements, each [count,
/// ...]. With `until` the last state is plain and counts the iterations, and what histories and elements hold of
/// iterations that did not run is not defined. Where the body carries a token (ir/effects.h), it is the last input and
/// output of both.
struct ScanParts {
  Dim count;
  std::vector<StateTaps> taps;  // of each state
  size_t states, sequences, captures, elements;
  bool until, token;
  int64_t truncate;  // the gradient goes back through that many iterations at most; -1: through all
  bool unbatched;    // no pass computes or keeps values of all iterations at once: see ScanShape
  const Graph& body;

  explicit ScanParts(const Node& node);

  size_t history(size_t state) const { return states + state; }                 // an output
  size_t element(size_t k) const { return 2 * states + k; }                     // an output
  size_t sequence(size_t k) const { return states + k; }                        // an input
  size_t capture(size_t k) const { return states + sequences + k; }             // an input
  size_t body_state(size_t state, size_t delay = 0) const;                      // an input of the body
  size_t body_sequence(size_t k) const { return body_states_ + k; }             // an input of the body
  size_t body_capture(size_t k) const { return body_sequence(sequences) + k; }  // an input of the body
  size_t body_element(size_t k) const { return states + k; }                    // an output of the body
  size_t body_token() const { return states + elements + until; }               // an output of the body
  size_t body_done() const { return states + elements; }                        // an output of the body

 private:
  size_t body_states_ = 0;  // inputs of the body that are states
};

struct ScanShape {
  Dim count;
  std::vector<StateTaps> taps;  // one for each state
  size_t sequences = 0;
  bool until = false;
  int64_t truncate = -1;
  std::string name = {};  // of the loop, for texts and the profile
  /// What an iteration computes stays in the iteration, in the loop's gradient too: values of all iterations at once,
  /// which batch_loops makes, would take memory in proportion to the iterations.
  bool unbatched = false;
};

/// So many plain states.
std::vector<StateTaps> plain_states(size_t count);

/// The node's outputs; `inputs` are states, sequences and captures.
std::vector<Expr> make_scan(const ScanShape& shape, GraphPtr body, std::vector<Expr> inputs,
                            const std::source_location& where = std::source_location::current());

/// By states, sequences and captures: Op::connection.
ConnectionTable scan_connections(const Node& node);

/// The gradient: one loop over the iterations from the last to the first, which reads the histories. Op::gradient.
std::vector<Expr> scan_gradient(const GradientArgs& args);

/// Op::iterations: one loop of values of all elements, where a body has neither until() nor effects.
extern const IterationsRule kScanOfIterations;

/// Forward mode: the loop with tangents as further states, sequences, captures and elements. Op::jvp.
std::vector<Expr> scan_jvp(const JvpArgs& args);

const Op& scan_op();

}  // namespace thtrain
