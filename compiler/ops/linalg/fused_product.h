// A matrix product and the elementwise expressions around it, in one kernel.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/kernel/chooser.h"
#include "compiler/ops/linalg/gemm_kernel.h"

namespace thtrain {

/// An op made from a body graph with one matrix product (dot or gemm) and elementwise nodes over its result, before it
/// (gemm's c) or after; all lengths of the product are known. Its outputs are the body's, each as long as the product.
/// Made by the pass `fuse_products`.
const Op& fused_product_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused_product(GraphPtr body, std::vector<Expr> inputs);

/// Is the node a product of two float matrices, dot or gemm?
bool is_matrix_product(const Node& node);
/// The input that holds its left factor; the right one is the next.
size_t first_factor(const Node& product);

/// The product of a node whose factors lie in these layouts; nullopt where a length or a stride is not known, or a
/// length is 0 or 1.
std::optional<kernel::MatrixProduct> known_product(const Node& node, const Layout& a, const Layout& b);
/// The tiling that `chooser` names for it; nullopt where the product is not for a kernel of ours, or could not end with
/// an epilogue.
std::optional<GemmTiling> tiling_with_epilogue(const kernel::Chooser* chooser, const kernel::MatrixProduct& product);

}  // namespace thtrain
