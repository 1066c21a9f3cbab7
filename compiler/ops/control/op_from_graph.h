// A graph as an op: a function of expressions that stays one node, with a derivative of its own where it is given one.
#pragma once

#include <functional>
#include <map>
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

/// The cotangent of one of the inputs, likewise.
using GraphCotangent = std::function<Expr(const std::vector<Expr>& inputs, const std::vector<Expr>& results,
                                          const std::vector<Expr>& cotangents)>;
/// Its derivative in forward mode: the tangent of each result, of its type (an empty Expr: it is zero), from the
/// inputs, the results and the inputs' tangents (empty for inputs that are no floats or complex numbers; zeros where
/// one does not move).
using GraphTangents = std::function<std::vector<Expr>(const std::vector<Expr>& inputs, const std::vector<Expr>& results,
                                                      const std::vector<Expr>& tangents)>;

/// What an OpFromGraph may be told.
struct GraphOpOptions {
  /// The cotangents of all arguments, instead of the graph's own derivative.
  GraphGradient gradient = nullptr;
  /// Those of single arguments, by their number; of the others the derivative is the graph's own.
  std::map<size_t, GraphCotangent> gradient_of = {};
  /// Forward mode, which without it follows from the cotangents.
  GraphTangents tangents = nullptr;
  /// Compiled as if its graph had been written where it is called: its steps are merged and fused with those around it,
  /// and a derivative may keep values of the call. A graph of elementwise operations is compiled so anyway.
  bool inlined = false;
};

/// An op that the user makes of a graph, used as often as they like; a GraphBuilder is a function results(inputs), a
/// GraphGradient a function cotangents_of_inputs(inputs, results, cotangents_of_results), of std::vector<Expr> each.
/// Each call builds the graph for the types of its arguments; what it uses from outside is captured. A call is one
/// node: its steps are contiguous, and passes fuse inside, unless it is inlined. Its derivative is that of the graph,
/// whose values are computed anew. That of the arguments may be given, all or some of them, which forward mode takes as
/// linear in the cotangents unless it is given too; that of the captures is the graph's own.
class OpFromGraph {
 public:
  explicit OpFromGraph(GraphBuilder build, GraphGradient gradient = nullptr)
      : OpFromGraph(std::move(build), GraphOpOptions{.gradient = std::move(gradient)}) {}
  OpFromGraph(GraphBuilder build, GraphOpOptions options) : build_(std::move(build)), options_(std::move(options)) {}

  /// The results. UserError where an argument or a result is empty, where a given derivative has another number of
  /// values or other types, or is one of an argument that is not there.
  std::vector<Expr> operator()(const std::vector<Expr>& arguments,
                               std::source_location where = std::source_location::current()) const;

 private:
  GraphBuilder build_;
  GraphOpOptions options_;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

const Op& graph_call_op();
/// The same with a rule of forward mode, which the call's last graph is.
const Op& graph_call_with_tangents_op();

}  // namespace thtrain
