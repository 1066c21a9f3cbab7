// Effects: which of them belong to a graph, and the token that puts them in order.
//
// Before thread_effects() a graph names what has an effect: nodes that its roots need, and those in Graph::effects.
// Neither has a token. Afterwards each of them takes the token of the one before it as its last input and gives the
// next one as its last output, and the last token is a root of the graph. So no pass can drop one, merge two or change
// their order: that would change the value of a root.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// Does computing the node do something besides giving values? Its op does, or a node of its bodies.
bool has_effect(const Node& node);

/// Collects the nodes with an effect that make_node() builds in this thread while it lives: the builder of an op with a
/// body opens one around the body's lambda, so that a print belongs to the body although nobody reads it. Scopes nest:
/// a node belongs to the innermost one.
class EffectScope {
 public:
  EffectScope();
  ~EffectScope();
  EffectScope(const EffectScope&) = delete;
  EffectScope& operator=(const EffectScope&) = delete;

  /// Those built so far, in order: Graph::effects of the body.
  const std::vector<Expr>& effects() const { return effects_; }

  /// Tells the innermost scope, if there is one, of a new node. No effect: nothing happens.
  static void record(const std::shared_ptr<const Node>& node);

 private:
  EffectScope* outer_;
  std::vector<Expr> effects_;
};

/// The graph with its effects in the order of construction (Node::serial); what an effect itself needs comes before it,
/// which makes a difference only where a value was replaced by one that was built later. Copies of one effect on the
/// same inputs (a name that was given) become one. Graph::effects is the last token, or empty.
///
/// A body with effects takes the token as its last input and gives it as its last output, and so does the node that it
/// belongs to; of several bodies of one node all do, and one without effects gives the token that it takes. The op's
/// rules must handle both forms: carries_token() tells them apart.
Graph thread_effects(const Graph& graph);

/// Does a body, and so the node that it belongs to, take a token as its last input and give one as its last output?
bool carries_token(const Graph& body);

/// The graph without its effects: the values alone, and in a body the lengths that it defines. Its inputs and outputs
/// stay, the token among them.
Graph without_effects(const Graph& graph);

/// The outputs of a node that has an effect, on these inputs, without it.
std::vector<Expr> without_effect(const Node& node, std::span<const Expr> inputs);

}  // namespace thtrain
