// A graph as an op: a function of expressions that stays one node, with a derivative of its own where it is given one.
#pragma once

#include <functional>
#include <source_location>
#include <utility>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- control -------------------------------------------------------------------------------------------------------

/// What an op made from a graph computes: results from inputs.
using GraphBuilder = std::function<std::vector<Expr>(const std::vector<Expr>& inputs)>;
/// Its derivative: the cotangent of each input, of its type (an empty Expr: it is disconnected), from the
/// inputs, the results and the results' cotangents (empty for results that are no floats or complex numbers; zeros
/// where nothing depends on one).
using GraphGradient = std::function<std::vector<Expr>(const std::vector<Expr>& inputs, const std::vector<Expr>& results,
                                                      const std::vector<Expr>& cotangents)>;

/// An op that the user makes of a graph, used as often as they like; a GraphBuilder is a function results(inputs), a
/// GraphGradient a function cotangents_of_inputs(inputs, results, cotangents_of_results), of std::vector<Expr> each.
/// Each call builds the graph for the types of its arguments; what it uses from outside is captured. A call is one
/// node: its steps are contiguous, and passes fuse inside. Its derivative is that of the graph, whose values are
/// computed anew. That of the arguments may be given by `gradient`, which forward mode takes as linear in the
/// cotangents; that of the captures is the graph's own.
class OpFromGraph {
 public:
  explicit OpFromGraph(GraphBuilder build, GraphGradient gradient = nullptr)
      : build_(std::move(build)), gradient_(std::move(gradient)) {}

  /// The results. UserError where an argument or a result is empty, or where a gradient gives another number of
  /// cotangents or other types.
  std::vector<Expr> operator()(const std::vector<Expr>& arguments,
                               std::source_location where = std::source_location::current()) const;

 private:
  GraphBuilder build_;
  GraphGradient gradient_;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

const Op& graph_call_op();

}  // namespace thtrain
