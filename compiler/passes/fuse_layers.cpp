#include "compiler/passes/fuse_layers.h"

#include "compiler/ir/op.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/layer_product.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

// A region begins with the activation, or with the sum of the bias.
class LayerFuser : public RegionFuser {
 public:
  LayerFuser(const Graph& graph, const PassContext& context, bool with_relu)
      : RegionFuser(graph, context.target.fusion_limits()), chooser_(*context.chooser), with_relu_(with_relu) {}

 protected:
  bool is_fusable(const Node& node) const override { return is_product(node) || is_bias_sum(node) || is_relu(node); }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (region.nodes.empty()) return with_relu_ ? is_relu(node) : is_bias_sum(node);
    if (region.main || is_relu(node) || !is_used_only_in(node, region)) return false;
    if (is_product(node)) region.main = &node;
    return true;
  }

  bool merges(const FusionRegion&, const FusionRegion&) const override { return false; }

  bool is_worth_it(const FusionRegion& region) const override {
    if (!region.main) return false;
    const std::optional<LayerProduct> layer = layer_product_of((*region.nodes[0])[0]);
    const std::vector<Expr>& factors = region.main->inputs;
    return layer && layer->product == region.main &&
           is_by_cublaslt(*layer, planned_layout(factors[0]), planned_layout(factors[1]), chooser_);
  }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    return make_fused_product(std::move(body), std::move(inputs));
  }

 private:
  static bool is_product(const Node& node) { return node.op->epilogue == &product_epilogue(); }

  const kernel::Chooser& chooser_;
  const bool with_relu_;
};

}  // namespace

Graph fuse_layers(const Graph& graph, const PassContext& context) {
  if (!context.target.is_device()) return graph;
  const Graph with_relu = LayerFuser(graph, context, true).run();
  return LayerFuser(with_relu, context, false).run();
}

}  // namespace thtrain
