// What the nodes of a function's graphs are on one minibatch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/lengths.h"
#include "compiler/ir/print.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// Computes them by the references of the ops, each once: a value that several graphs have is known by what computes
/// it. Shared variables have the values that they have now.
class NodeValues {
 public:
  /// Why they are not computed of these inputs, for people: more than kMostOperations operations or kMostBytes bytes.
  /// Nothing where they are.
  static std::optional<std::string> why_none(const Graph& graph, std::span<const Tensor> inputs);
  static constexpr double kMostOperations = 3e8, kMostBytes = 1e9;  // ten seconds at most

  NodeValues(const Graph& given, std::span<const Tensor> inputs);

  /// The values of all nodes of a graph with the same inputs.
  void add(const Graph& graph);
  /// Of a node of a graph that was added: one JSON text for each output that is an array, with `type`, `least`,
  /// `largest`, `mean` (of what is finite), `bad` (how many are not), `shape`, and in `rows` at most kCorner x kCorner
  /// of its first elements; [] of others.
  std::string json_of(const Node& node) const;
  static constexpr int64_t kCorner = 8;

 private:
  struct Value {
    std::vector<Tensor> tensors;
    std::string json;
  };
  size_t value_of(const Node& node);

  std::vector<Graph> graphs_;  // keep the nodes, whose addresses are keys
  Lengths lengths_;
  NodeNumbers value_;  // of each node the number of its value
  std::vector<Value> values_;
  std::unordered_map<std::string, size_t> known_;  // by the line of a node, its operands by the numbers of their values
};

}  // namespace thtrain
