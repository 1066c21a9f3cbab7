// A matrix product with a bias and an activation behind it, which cuBLASLt computes by one call on a device.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/linalg/product_key.h"

namespace thtrain {

/// relu(A . B + bias), with a bias for each column; what is not there is left out.
struct LayerProduct {
  const Node* product;  // dot of matrices, or batched_dot
  Expr bias;            // no value: none
  bool relu = false;
};
/// The form of what is computed so from one product of floats; nullopt of anything else, and of a product alone.
std::optional<LayerProduct> layer_product_of(const Expr& value);
/// May be the last node of such a form, after another of its nodes or the product.
bool is_bias_sum(const Node& node);
bool is_relu(const Node& node);

/// Does the chooser take cuBLASLt for it, whose factors lie in these layouts?
bool is_by_cublaslt(const LayerProduct& layer, const Layout& a, const Layout& b, const kernel::Chooser& chooser);

/// The step of a fused product by cuBLASLt, where that is chosen for it; false: it is not.
bool lower_by_cublaslt(kernel::StepBuilder& builder);

}  // namespace thtrain
