// A graph: what is given, what is wanted, which shared variables change. Traversals and rebuilding.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/node_map.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// After the call, `variable` (a shared leaf) holds `value` (of the same type).
struct Update {
  Expr variable;
  Expr value;
};

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// Immutable once made. A body graph has inputs and outputs only, and reaches outside through its inputs alone; names
/// of lengths in it may also be those of the graph around it.
struct Graph {
  std::vector<Expr> inputs;
  std::vector<Expr> outputs;
  std::vector<Update> updates;
  /// What belongs to the graph although nothing may read it: what has an effect, once in order (ir/effects.h) the last
  /// token or none; and the lengths that a body defines (ir/defined_lengths.h).
  std::vector<Expr> effects = {};

  /// Outputs, then the values of the updates, then the effects.
  std::vector<Expr> roots() const;
};

/// The graph with `f(root)` instead of each root, asked in the order of roots().
Graph map_roots(const Graph& graph, const std::function<Expr(const Expr&)>& f);

/// Do the two graphs have the same values as outputs, updates and effects?
bool same_roots(const Graph& a, const Graph& b);

/// Every node that the roots need, each after its inputs. Order depends on the graph alone. Linear, iterative.
std::vector<const Node*> topological_order(std::span<const Expr> roots);

/// The shared variables and inputs that the roots need, in topological order.
std::vector<Expr> leaves_of(std::span<const Expr> roots);

/// The shared variables that a graph reads or updates, each once: readers in topological order, then what is only
/// written.
std::vector<Expr> shared_leaves(const Graph& graph);

/// Number of nodes, bodies included.
size_t node_count(const Graph& graph);

/// Builds new expressions bottom-up. Equal nodes merge by construction (hash-consing within one Rebuilder). Two effects
/// that have no token yet are equal only where one is a copy of the other: two prints of one value stay two.
class Rebuilder {
 public:
  /// Gives the replacement of a node on its new inputs: one Expr for each output, or none to keep it as it is.
  using Rewrite = std::function<std::vector<Expr>(const Node& node, const std::vector<Expr>& inputs)>;

  /// With `merges_effects` effects without a token merge as all other nodes do: to compare graphs, not to make one.
  explicit Rebuilder(bool merges_effects = false) : merges_effects_(merges_effects) {}
  /// From now on `from` stands for `to`.
  void replace(const Expr& from, const Expr& to);
  /// The rebuilt value of `root`; `rewrite` is asked once for each node that needs it, inputs first.
  Expr rebuild(const Expr& root, const Rewrite& rewrite);
  std::vector<Expr> rebuild(std::span<const Expr> roots, const Rewrite& rewrite);
  /// An equal node that was met before, else this one.
  std::shared_ptr<const Node> cons(std::shared_ptr<const Node> node);

 private:
  // What a node became: the outputs of `made`, or `outputs` where they come from different nodes.
  struct Done {
    std::shared_ptr<const Node> kept;  // the key stays alive
    std::shared_ptr<const Node> made;
    std::vector<Expr> outputs;
    Expr operator[](size_t o) const { return outputs.empty() ? Expr(made, o) : outputs[o]; }
  };
  struct Unique {
    size_t hash = 0;
    std::shared_ptr<const Node> node;  // null: free
  };
  Unique& slot_of(size_t hash, const Node& node);

  bool merges_effects_;
  NodeMap<Done> done_;
  std::vector<Unique> unique_;  // a power of two, three quarters full at most
  size_t unique_count_ = 0;
};

/// Rebuilds a graph, but for the bodies of its nodes, and merges equal nodes.
Graph rewrite_graph(const Graph& graph, const Rebuilder::Rewrite& rewrite);

/// Has a node of the graph a body of its own: a loop, a branch? (Those of fused nodes are no programs, and do not
/// count.)
bool has_bodies(const Graph& graph);
/// The graph, each such body of which is what `change` makes of it.
Graph map_bodies(const Graph& graph, const std::function<Graph(const Graph&)>& change);

/// Which outputs of each node of this op are read by nodes of the graph, or are its roots.
NodeMap<std::vector<bool>> outputs_read(const Graph& graph, const Op& op);

/// The node whose elements the value shows, through views.
const Node* root_of(const Expr& value);

/// `roots` with leaves or inner values replaced.
std::vector<Expr> substitute(std::span<const Expr> roots, std::span<const std::pair<Expr, Expr>> replacements);

/// The same of a whole graph: what its roots share stays shared.
Graph substitute(const Graph& graph, std::span<const std::pair<Expr, Expr>> replacements);

/// Do the two graphs have the same nodes under a mapping of their inputs? Effects without a token are compared by what
/// they are and counted, not by their order. Linear.
bool same_graph(const Graph& a, const Graph& b);

/// Who reads each node of an order: every reader once, in the order. Graph outputs and updates are not counted.
class Readers {
 public:
  explicit Readers(std::span<const Node* const> order);
  /// None of a node that is not in the order.
  std::span<const Node* const> of(const Node& node) const;

 private:
  NodeMap<uint32_t> number_;
  std::vector<uint32_t> begin_;  // of each number's readers in all_, and the end
  std::vector<const Node*> all_;
};

}  // namespace thtrain
