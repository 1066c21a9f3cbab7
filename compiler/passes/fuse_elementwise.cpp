#include "compiler/passes/fuse_elementwise.h"

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

class ElementwiseFuser : public RegionFuser {
 public:
  using RegionFuser::RegionFuser;

 protected:
  bool is_fusable(const Node& node) const override { return has_scalar_code(node) || may_be_gathered(node, limits_); }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (node.op->gather && !is_used_only_in(node, region)) return false;
    if (region.nodes.empty()) region.domain = node.types[0].dims;
    return node.types[0].dims == region.domain;
  }

  bool merges(const FusionRegion& a, const FusionRegion& b) const override { return a.domain == b.domain; }
  bool is_worth_it(const FusionRegion&) const override { return true; }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    return make_fused(std::move(body), std::move(inputs));
  }
};

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext& context) {
  return ElementwiseFuser(graph, context.target.fusion_limits()).run();
}

}  // namespace thtrain
