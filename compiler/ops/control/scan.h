// Loops over sequences: scan, and map, reduce, foldl and foldr, which are scans of a simple form.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/control/scan_step.h"
#include "compiler/ops/operand.h"

namespace thtrain {

// ---- control --------------------------------------------------------------------------------------------------------

/// What a loop reads along its first axis. At step t the step function gets the elements t + tap, in the order of the
/// taps. Where the first tap is -4, element 0 stands for the time -4, and the loop begins at element 4.
struct ScanSequence {
  Expr input;
  std::vector<int64_t> taps = {0};

  template <std::convertible_to<Operand> T>
  ScanSequence(const T& input, std::vector<int64_t> taps = {0},
               std::source_location where = std::source_location::current())
      : input(Operand(input, where).expr()), taps(std::move(taps)) {}
};

/// What is known of an output of the step function: nothing, or the values that it begins with. Then the step function
/// gets the values at t + tap; taps are negative. With the tap -1 alone `initial` is one value. With others it holds
/// values along its first axis, as many as the longest way back, the oldest first: initial[0] is that at the time -5
/// for the taps {-5, -2}.
struct ScanOutput {
  Expr initial = {};
  std::vector<int64_t> taps = {};

  ScanOutput() = default;
  ScanOutput(std::nullopt_t) {}
  template <std::convertible_to<Operand> T>
  ScanOutput(const T& initial, std::vector<int64_t> taps = {-1},
             std::source_location where = std::source_location::current())
      : initial(Operand(initial, where).expr()), taps(std::move(taps)) {}
};

/// What a loop reads, what it begins with, and how far it goes.
struct ScanOptions {
  std::vector<ScanSequence> sequences = {};
  /// One for each output of the step function, in its order; none at all: no output is read by later steps.
  std::vector<ScanOutput> outputs_info = {};
  /// Further arguments of the step function, the same in every step. What else it reads is found.
  std::vector<Operand> non_sequences = {};
  /// How many steps; an integer scalar. Negative: from the end to the beginning; where only a call knows the sign, the
  /// sequences are copied. None: as many as the shortest sequence allows.
  std::optional<Operand> n_steps = {};
  /// The gradient goes back through so many steps, the last ones; -1: through all.
  int64_t truncate_gradient = -1;
  /// Sequences are read from their end.
  bool go_backwards = false;
  /// What the step function reads from outside must be among `non_sequences`.
  bool strict = false;
  /// Of the loop, for texts and for the function's profile, whose steps inside loops have it. A loop has no mode and no
  /// profile of its own: it is part of the function's program.
  std::string name = {};
};

/// outputs: what the step function gave in each step, along a new first axis: an Expr where it gives one value, a
/// vector where it gives a vector. updates: the values of shared variables after the last step, for function().
template <class Outputs>
struct Scanned {
  Outputs outputs;
  std::vector<Update> updates;
};

/// The value that an update gives the variable. UserError where there is none.
Expr updated(const std::vector<Update>& updates, const Expr& variable,
             std::source_location where = std::source_location::current());

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// All steps of each output, and the last values alone.
Scanned<std::vector<Expr>> scan_all(const ScanStep& step, const ScanOptions& options,
                                    const std::source_location& where);
Scanned<std::vector<Expr>> scan_last(const ScanStep& step, const ScanOptions& options,
                                     const std::source_location& where);
/// The last value of each output that has a state, all steps of the others. The loop is what `replace` makes of the
/// scan node: its last values and elements, at the locations where the node has them (ScanParts). No `until`.
Scanned<std::vector<Expr>> scan_replaced(const ScanStep& step, const ScanOptions& options,
                                         const std::function<std::vector<Expr>(const Node& loop)>& replace,
                                         const std::source_location& where);

// ---- control --------------------------------------------------------------------------------------------------------

/// Runs `step` again and again. Its arguments, in this order: for each sequence the elements at its taps, for each
/// output the values at its taps, the non-sequences. They are parameters of type Expr, or one std::vector<Expr>. It
/// gives an Expr, a std::vector<Expr>, a std::vector<Update>, or a pair or tuple of one of the first two, updates and
/// until(condition), in any order; the condition ends the loop after the step in which it holds, and must be last. An
/// update changes a shared variable after each step. What the step function builds is run in each step; what it uses
/// from outside is computed once, before the loop. With `until` the number of steps is what the data decides; n_steps,
/// or the shortest sequence, is its limit. Where no step runs the results have no rows.
///
/// UserError: a step function that takes or gives another number of values; an output of a wider dtype than its initial
/// values, or of other axes; no sequence and no n_steps; taps of an output that are not negative. A sequence that is
/// too short, and lengths that only a call knows, are checked when a call begins.
template <class Step>
auto scan(const Step& step, const ScanOptions& options, std::source_location where = std::source_location::current()) {
  Scanned<std::vector<Expr>> all = scan_all(ScanStep(step), options, where);
  return Scanned<typename ScanStep::OutputsOf<Step>>{ScanStep::outputs_of<Step>(std::move(all.outputs)),
                                                     std::move(all.updates)};
}

/// A scan whose outputs no later step reads: the step function on each element of the sequences.
template <class Step>
auto map(const Step& step, const ScanOptions& options, std::source_location where = std::source_location::current()) {
  return scan(step, options, where);
}

/// A scan of which only the last values are kept.
template <class Step>
auto reduce(const Step& step, const ScanOptions& options,
            std::source_location where = std::source_location::current()) {
  Scanned<std::vector<Expr>> last = scan_last(ScanStep(step), options, where);
  return Scanned<typename ScanStep::OutputsOf<Step>>{ScanStep::outputs_of<Step>(std::move(last.outputs)),
                                                     std::move(last.updates)};
}

/// reduce() from the first element to the last.
template <class Step>
auto foldl(const Step& step, const ScanOptions& options, std::source_location where = std::source_location::current()) {
  return reduce(step, options, where);
}

/// reduce() from the last element to the first.
template <class Step>
auto foldr(const Step& step, ScanOptions options, std::source_location where = std::source_location::current()) {
  options.go_backwards = !options.go_backwards;
  return reduce(step, options, where);
}

}  // namespace thtrain
