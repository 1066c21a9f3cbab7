#include "compiler/passes/fuse_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

// The layout that the planner will give the value, which may be a view of a view.
Layout layout_of(const Expr& value) {
  std::vector<Expr> views;
  Expr at = value;
  for (; is_view(at); at = viewed_by(at)) views.push_back(at);
  Layout layout = row_major(at.dims());
  for (size_t i = views.size(); i-- > 0;) {
    const Node& node = views[i].node();
    layout = view_rule(*node.op, views[i].output())->view({node, layout}).value_or(row_major(views[i].dims()));
  }
  return layout;
}

bool is_for_our_kernels(const Node& node, const kernel::Chooser& chooser) {
  const size_t first = first_factor(node);
  std::optional<kernel::MatrixProduct> product =
      known_product(node, layout_of(node.inputs[first]), layout_of(node.inputs[first + 1]));
  return product && tiling_with_epilogue(&chooser, *product);
}

// Products' epilogues have one term for each value.
bool computes_complex(const Node& node) {
  return is_complex(node.types[0].dtype) ||
         std::any_of(node.inputs.begin(), node.inputs.end(), [](const Expr& e) { return is_complex(e.dtype()); });
}

class ProductFuser : public RegionFuser {
 public:
  ProductFuser(const Graph& graph, const PassContext& context, NodeMap<bool> ours)
      : RegionFuser(graph), context_(context), ours_(std::move(ours)) {}

 protected:
  bool is_fusable(const Node& node) const override {
    return is_matrix_product(node) ? ours_.contains(&node) : has_scalar_code(node) && !computes_complex(node);
  }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (region.nodes.empty()) region.domain = node.types[0].dims;
    if (node.types[0].dims != region.domain) return false;
    if (is_matrix_product(node)) {
      if (region.has_reduction || !fits(region, node)) return false;
      region.has_reduction = true;
      return true;
    }
    const Node* product = product_of(region);
    return !product || widest_of(node) <= size_of(product->types[0].dtype);
  }

  bool merges(const FusionRegion& a, const FusionRegion& b) const override {
    if (a.domain != b.domain || (a.has_reduction && b.has_reduction)) return false;
    const Node *left = product_of(a), *right = product_of(b);
    return (!left || fits(b, *left)) && (!right || fits(a, *right));
  }

  bool is_worth_it(const FusionRegion& region) const override {
    return region.has_reduction && region.nodes.size() > 1;
  }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    return make_fused_product(std::move(body), std::move(inputs));
  }

  Graph fuse_body(const Graph& body) const override { return fuse_products(body, context_); }

 private:
  // A region's product; has_reduction says that there is one.
  static const Node* product_of(const FusionRegion& region) {
    if (!region.has_reduction) return nullptr;
    return *std::find_if(region.nodes.begin(), region.nodes.end(),
                         [](const Node* node) { return is_matrix_product(*node); });
  }

  // Are all elements of the region as wide as the product's at most? Its vectors have as many lanes as the product's.
  static bool fits(const FusionRegion& region, const Node& product) {
    return std::all_of(region.nodes.begin(), region.nodes.end(), [&](const Node* node) {
      return is_matrix_product(*node) || widest_of(*node) <= size_of(product.types[0].dtype);
    });
  }

  const PassContext& context_;
  NodeMap<bool> ours_;  // the products that generated kernels compute
};

}  // namespace

Graph fuse_products(const Graph& graph, const PassContext& context) {
  if (!context.chooser) return graph;
  NodeMap<bool> ours;
  bool bodies = false;
  for (const Node* node : topological_order(graph.roots())) {  // asked about in their order
    bodies = bodies || (!node->bodies.empty() && !node->op->fused);
    if (is_matrix_product(*node) && is_for_our_kernels(*node, *context.chooser)) ours.try_emplace(node);
  }
  return ours.size() > 0 || bodies ? ProductFuser(graph, context, std::move(ours)).run() : graph;
}

}  // namespace thtrain
