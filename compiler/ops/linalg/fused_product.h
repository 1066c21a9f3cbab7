// A matrix product and the elementwise expressions around it, in one kernel.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain {

/// An op made from a body graph with one matrix product (dot or gemm) and elementwise nodes over its result, before it
/// (gemm's c) or after; all lengths of the product are known. Its outputs are the body's, each as long as the product.
/// Made by the pass `fuse_epilogues`.
const Op& fused_product_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused_product(GraphPtr body, std::vector<Expr> inputs);

/// Is a product of these lengths large enough for a fused one?
bool ends_with_more(const MatrixProduct& product);
/// Op::epilogue of dot and gemm: products of known lengths for which a generated kernel is chosen.
const Epilogue& product_epilogue();
/// The tiling that `chooser` names for it; nullopt where the product is not for a kernel of ours, or could not end with
/// an epilogue.
std::optional<GemmTiling> tiling_with_epilogue(const kernel::Chooser* chooser, const MatrixProduct& product);

}  // namespace thtrain
