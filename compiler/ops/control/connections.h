// Which outputs of a node have a derivative with respect to which of its inputs: Op::connection, through bodies too.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// Has a value of this type derivatives? Floating and complex tensors have.
bool differentiable(const Type& type);

/// [input][output]
using ConnectionTable = std::vector<std::vector<bool>>;

/// Of the outputs of a body on its inputs. Linear in the size of the body, with all bodies in it, times its inputs.
ConnectionTable connections_of(const Graph& body);

/// An Op::connection of nodes with bodies: one walk finds all pairs.
struct ConnectionsOfBodies {
  ConnectionTable (*table)(const Node&);

  bool operator()(const Node& node, size_t input, size_t output) const { return table(node)[input][output]; }
};

/// The connections of one node between its differentiable inputs and outputs. As long as the node lives.
class Connections {
 public:
  explicit Connections(const Node& node);

  bool operator()(size_t input, size_t output) const;

 private:
  const Node& node_;
  ConnectionTable table_;  // of a node with bodies
};

}  // namespace thtrain
