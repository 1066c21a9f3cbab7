// What the nodes of a training function are for: the forward pass, the gradient, the updates.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/print.h"

namespace thtrain {

/// A fused node may have several roles: it computes what several nodes did.
struct Roles {
  bool forward = false;   // computes outputs, updates that need no gradient, and what derivatives are taken of
  bool gradient = false;  // built by grad or jvp (Origin::in_gradient)
  bool update = false;    // reads the gradient, or is needed by what does alone: the optimizer's step

  bool any() const { return forward || gradient || update; }
  Roles& operator|=(const Roles& other);
};

/// "forward", "gradient+update"; "" where there is none: leaves and constants have no role.
std::string text_of(const Roles& roles);

/// Of every node of a graph, those of its bodies among them. A fused node has the roles of the nodes of its body; a
/// product of the gradient that adds to the weights by itself has two. Linear.
NodeMap<Roles> roles_of(const Graph& graph);

/// Notes for graph_text() and node_text(): "gradient", "update" and what is mixed of them; none at nodes that belong to
/// the forward pass alone.
NodeNotes role_notes(const Graph& graph);

/// graph_text() with these notes, for people.
std::string text_with_roles(const Graph& graph);

}  // namespace thtrain
