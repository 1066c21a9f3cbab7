#include "compiler/passes/fuse_epilogues.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/epilogue.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

bool can_be_fused(const Node& node, const PassContext& context) {
  std::vector<Layout> layouts;
  for (const Expr& input : node.inputs) layouts.push_back(planned_layout(input));
  return node.op->epilogue->is_possible(node, layouts, *context.chooser, context.target);
}

// Epilogues have one term for each value.
bool computes_complex(const Node& node) {
  return is_complex(node.types[0].dtype) ||
         std::any_of(node.inputs.begin(), node.inputs.end(), [](const Expr& e) { return is_complex(e.dtype()); });
}

class EpilogueFuser : public RegionFuser {
 public:
  EpilogueFuser(const Graph& graph, const kernel::FusionLimits& limits, NodeMap<bool> possible)
      : RegionFuser(graph, limits), possible_(std::move(possible)) {}

 protected:
  bool is_fusable(const Node& node) const override {
    return node.op->epilogue ? possible_.contains(&node) : has_scalar_code(node) && !computes_complex(node);
  }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (region.nodes.empty()) region.domain = node.types[0].dims;
    if (node.types[0].dims != region.domain) return false;
    if (node.op->epilogue) {
      if (region.main || !fits(region, node)) return false;
      region.main = &node;
      return true;
    }
    return !region.main || widest_of(node) <= size_of(region.main->types[0].dtype);
  }

  bool merges(const FusionRegion& a, const FusionRegion& b) const override {
    if (a.domain != b.domain || (a.main && b.main)) return false;
    return (!a.main || fits(b, *a.main)) && (!b.main || fits(a, *b.main));
  }

  bool is_worth_it(const FusionRegion& region) const override { return region.main && region.nodes.size() > 1; }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    const std::vector<const Node*> nodes = topological_order(body->outputs);
    const auto main = std::find_if(nodes.begin(), nodes.end(), [](const Node* node) { return node->op->epilogue; });
    return (*main)->op->epilogue->make(std::move(body), std::move(inputs));
  }

 private:
  // Are all elements of the region as wide as those of `main` at most? Its vectors have as many lanes.
  static bool fits(const FusionRegion& region, const Node& main) {
    return std::all_of(region.nodes.begin(), region.nodes.end(), [&](const Node* node) {
      return node->op->epilogue || widest_of(*node) <= size_of(main.types[0].dtype);
    });
  }

  NodeMap<bool> possible_;  // nodes whose implementation can take an epilogue
};

}  // namespace

Graph fuse_epilogues(const Graph& graph, const PassContext& context) {
  NodeMap<bool> possible;
  for (const Node* node : topological_order(graph.roots()))  // asked about in their order
    if (node->op->epilogue && can_be_fused(*node, context)) possible.try_emplace(node);
  return possible.size() > 0 ? EpilogueFuser(graph, context.target.fusion_limits(), std::move(possible)).run() : graph;
}

}  // namespace thtrain
