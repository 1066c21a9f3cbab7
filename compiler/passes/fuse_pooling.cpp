#include "compiler/passes/fuse_pooling.h"

#include <algorithm>

#include "compiler/cpu/pool/pooled_conv.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

// A region begins with a pooling, and has one convolution and the elementwise nodes between them.
class PoolingFuser : public RegionFuser {
 public:
  PoolingFuser(const Graph& graph, const PassContext& context)
      : RegionFuser(graph, context.target.fusion_limits()), chooser_(*context.chooser) {}

 protected:
  bool is_fusable(const Node& node) const override {
    return is_pooling(node) || (node.types.size() == 1 && (node.op->epilogue || has_scalar_code(node)));
  }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (region.nodes.empty()) return is_pooling(node);
    const Type &type = node.types[0], &image = region.nodes[0]->inputs[0].type();
    if (is_pooling(node) || type.dims != image.dims || !is_used_only_in(node, region)) return false;
    if (node.op->epilogue) {
      if (region.main) return false;
      region.main = &node;
      return true;
    }
    return widest_of(node) <= size_of(image.dtype) && !is_complex(type.dtype);
  }

  bool merges(const FusionRegion&, const FusionRegion&) const override { return false; }

  bool is_worth_it(const FusionRegion& region) const override {
    return region.main && is_pooled_in_one_kernel(*region.main, *region.nodes[0], chooser_);
  }

  bool reads_in_step(const Node& reader, size_t input) const override {
    return is_pooling(reader) || RegionFuser::reads_in_step(reader, input);
  }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    return make_pooled_conv(std::move(body), std::move(inputs));
  }

 private:
  const kernel::Chooser& chooser_;
};

}  // namespace

Graph fuse_pooling(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  const bool any = std::any_of(order.begin(), order.end(), [](const Node* node) { return is_pooling(*node); });
  return any ? PoolingFuser(graph, context).run() : graph;
}

}  // namespace thtrain
