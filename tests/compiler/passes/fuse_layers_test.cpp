// Products with the bias and the activation that cuBLASLt computes with them: which graphs come of them.
#include "compiler/passes/fuse_layers.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/verify.h"
#include "compiler/kernel/target.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/layer_product.h"

namespace thtrain::fuse_layers_test {
namespace {

// Takes cuBLASLt for all layers, or for those without an activation.
class Taken : public kernel::Chooser {
 public:
  explicit Taken(bool with_relu) : with_relu_(with_relu) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    if (key.computation != "layer_product") return "cuBLAS";
    return with_relu_ || !key.properties.ends_with("relu") ? "cuBLASLt" : "own";
  }

 private:
  bool with_relu_;
};

const Expr x = make_input({.dtype = DType::kFloat32, .dims = {7, 5}}, "x"),
           w = make_input({.dtype = DType::kFloat32, .dims = {5, 21}}, "w"),
           b = make_input({.dtype = DType::kFloat32, .dims = {1, 21}}, "b");

// The names of the nodes, from the first to the last, behind the pass.
std::string fused(const Expr& y, bool with_relu = true, const kernel::Target& target = kernel::emulated_cuda_target()) {
  const Taken chooser(with_relu);
  const Graph before{{x, w, b}, {y}, {}};
  const Graph after = fuse_layers(before, {.chooser = &chooser, .target = target});
  verify(after, "fuse_layers");
  std::string out;
  for (const Node* node : topological_order(after.roots()))
    if (!node->is_leaf() && node->op->name != std::string("constant"))
      out += (out.empty() ? "" : " ") + std::string(node->op->name);
  return out;
}

TEST(FuseLayers, TakeInTheBiasAndTheActivation) {
  EXPECT_EQ(fused(dot(x, w) + b), "fused_product");
  EXPECT_EQ(fused(b + dot(x, w)), "fused_product");
  EXPECT_EQ(fused(relu(dot(x, w) + b)), "fused_product");
  EXPECT_EQ(fused(maximum(dot(x, w), 0)), "fused_product");
  EXPECT_EQ(fused(tanh(dot(x, w) + b)), "fused_product tanh");
  EXPECT_EQ(fused(relu(dot(x, w) + b), false), "fused_product maximum") << "where the activation is not chosen";
}

TEST(FuseLayers, LeaveWhatIsNoLayer) {
  EXPECT_EQ(fused(dot(x, w)), "dot");
  EXPECT_EQ(fused(dot(x, w) * b), "dot mul");
  EXPECT_EQ(fused(dot(x, w) - b), "dot sub");
  EXPECT_EQ(fused(relu(dot(x, w)), false), "dot maximum");
  EXPECT_EQ(fused(dot(x, w) + dot(x, w * 2.0F)), "dot mul dot add") << "no bias";
  EXPECT_EQ(fused(dot(x, w) + b, true, kernel::widest_target()), "dot add") << "a processor";
  const Expr z = dot(x, w);
  EXPECT_EQ(fused((z + b) * z), "dot add mul") << "others read the product";
}

// Equal values: the node computes what the graph does.
TEST(FuseLayers, AreWhatTheyWere) {
  const std::optional<LayerProduct> layer = layer_product_of(relu(dot(x, w) + b));
  ASSERT_TRUE(layer);
  EXPECT_TRUE(layer->relu);
  EXPECT_TRUE(layer->bias.same(b));
  EXPECT_FALSE(layer_product_of(dot(x, w)));
  EXPECT_FALSE(layer_product_of(relu(relu(dot(x, w)))));
}

}  // namespace
}  // namespace thtrain::fuse_layers_test
