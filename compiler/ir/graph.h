// A graph: what is given, what is wanted, which shared variables change. Traversals and rebuilding.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// After the call, `variable` (a shared leaf) holds `value` (of the same type).
struct Update {
  Expr variable;
  Expr value;
};

/// Immutable once made. A body graph has inputs and outputs only, and reaches outside through its inputs alone; names
/// of lengths in it may also be those of the graph around it.
struct Graph {
  std::vector<Expr> inputs;
  std::vector<Expr> outputs;
  std::vector<Update> updates;

  /// Outputs, then the values of the updates.
  std::vector<Expr> roots() const;
};

/// Every node that the roots need, each after its inputs. Order depends on the graph alone. Linear, iterative.
std::vector<const Node*> topological_order(std::span<const Expr> roots);

/// The shared variables and inputs that the roots need, in topological order.
std::vector<Expr> leaves_of(std::span<const Expr> roots);

/// The shared variables that a graph reads or updates, each once: readers in topological order, then what is only
/// written.
std::vector<Expr> shared_leaves(const Graph& graph);

/// Number of nodes, bodies included.
size_t node_count(const Graph& graph);

/// Builds new expressions bottom-up. Equal nodes merge by construction (hash-consing within one Rebuilder).
class Rebuilder {
 public:
  /// Gives the replacement of a node on its new inputs: one Expr for each output, or none to keep it as it is.
  using Rewrite = std::function<std::vector<Expr>(const Node& node, const std::vector<Expr>& inputs)>;

  Rebuilder() = default;
  /// From now on `from` stands for `to`.
  void replace(const Expr& from, const Expr& to);
  /// The rebuilt value of `root`; `rewrite` is asked once for each node that needs it, inputs first.
  Expr rebuild(const Expr& root, const Rewrite& rewrite);
  std::vector<Expr> rebuild(std::span<const Expr> roots, const Rewrite& rewrite);
  /// An equal node that was met before, else this one.
  std::shared_ptr<const Node> cons(std::shared_ptr<const Node> node);

 private:
  struct Hash {
    size_t operator()(const std::shared_ptr<const Node>& node) const;
  };
  struct Equal {
    bool operator()(const std::shared_ptr<const Node>& a, const std::shared_ptr<const Node>& b) const;
  };
  std::unordered_map<const Node*, std::vector<Expr>> done_;
  std::vector<std::shared_ptr<const Node>> kept_;  // keys of done_ stay alive
  std::unordered_map<std::shared_ptr<const Node>, std::shared_ptr<const Node>, Hash, Equal> consed_;
};

/// Rebuilds a whole graph, bodies first (each by its own Rebuilder), and merges equal nodes.
Graph rewrite_graph(const Graph& graph, const Rebuilder::Rewrite& rewrite);

/// `roots` with leaves or inner values replaced.
std::vector<Expr> substitute(std::span<const Expr> roots, std::span<const std::pair<Expr, Expr>> replacements);

/// Do the two graphs have the same nodes under a mapping of their inputs? Linear.
bool same_graph(const Graph& a, const Graph& b);

/// Calls of inputs: for each node of the order, who reads it. Graph outputs and updates are not counted.
std::unordered_map<const Node*, std::vector<const Node*>> readers_of(std::span<const Node* const> order);

}  // namespace thtrain
