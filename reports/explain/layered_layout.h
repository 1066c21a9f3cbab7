// Where the nodes and edges of a drawn graph go: in layers, every edge downwards. After K. Sugiyama, S. Tagawa and
// M. Toda, "Methods for visual understanding of hierarchical system structures" (IEEE Transactions on Systems, Man, and
// Cybernetics 11, 1981): longest-path layers, order by barycentres, then positions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thtrain {

struct LayoutPoint {
  double x = 0, y = 0;  // y grows downwards
};

struct LayoutNode {
  double width = 0, height = 0;
};
/// Nodes are numbered so that `from` < `to`.
struct LayoutEdge {
  size_t from = 0, to = 0;
  double leaves_at = 0;  // from the middle of the lower side of `from`
};
struct LayoutGaps {
  double nodes = 18;   // between two nodes of a layer
  double edges = 12;   // between two edges that pass a layer, or such an edge and a node
  double layers = 30;  // at least; more where edges run far to the side
};

struct LayeredLayout {
  std::vector<size_t> layers;          // of the nodes, the top one is 0
  std::vector<LayoutPoint> positions;  // of the nodes' upper left corners
  /// Of each edge, from the lower side of `from` to the upper side of `to`: pairs of points. Between the two points of
  /// a pair it runs straight down past a layer; from a pair to the next one it crosses the gap between two layers.
  std::vector<std::vector<LayoutPoint>> routes;
  double width = 0, height = 0;
};

/// Nodes without edges into them are just above the first node that they lead to. No two nodes overlap, no edge runs
/// through a node, and the same graph gives the same positions. Time grows with nodes and edges, an edge counted once
/// for each layer that it passes.
LayeredLayout layered_layout(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges,
                             const LayoutGaps& gaps = {});

}  // namespace thtrain
