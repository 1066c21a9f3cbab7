// What the optimizer did to a function, held against the references: every rewrite, every pass, the results of a call.
#pragma once

#include <functional>

#include "compiler/ops/bounded.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// What the debug mode remembers of a function whose rewrites were right.
struct CheckedRewrites {
  Graph optimized;  // what the last pass made
  bool is_exact;    // every rewrite was: infinities and NaN stay too
};

/// A graph, what its leaves are, and the passes that it is to go through.
struct RewriteCase {
  const Graph& graph;
  std::vector<std::pair<Expr, Tensor>> leaves;  // inputs and shared variables, dense
  const Lengths& lengths;
  PipelineOptions options;
  std::function<void(const std::string&)> on_note = {};  // null: standard error
};

/// Runs the passes and evaluates what each rewrite took and gave. InternalError for a rule or a pass that changes a
/// value by more than the roundings of both forms:
/// - an exact rule: at all;
/// - a rule that changes the range: where the plain form is finite, in float64 if it computes in float32;
/// - the others: where every value on the way is finite. What a finite-math rule forgot is noted.
CheckedRewrites check_rewrites(RewriteCase rewritten);
/// Those of a function, on these (dense) inputs and the values of its shared variables.
CheckedRewrites check_rewrites(const Function::State& state, std::span<const Tensor> inputs);

/// What a call should give, by the references of the graph that no pass has seen.
class ExpectedResults {
 public:
  /// Before the call changes a shared variable; after check_rewrites().
  ExpectedResults(const Function::State& state, std::span<const Tensor> inputs);
  /// InternalError where an output or an update is too far away. Every step was right on its own inputs: here it shows
  /// whether they came in the right order.
  void check(const Function::State& state, const std::vector<Tensor>& outputs) const;

 private:
  std::vector<Bounded> plain_;
  std::vector<Tensor> errors_;  // of the optimized graph
};

}  // namespace thtrain
