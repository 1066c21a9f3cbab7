// A product of a sparse matrix and the elementwise expressions over its results, in one kernel.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/ops/epilogue.h"

namespace thtrain {

/// An op made from a body graph with one csr_dot of a matrix with a dense one, and elementwise nodes of its shape. Made
/// by the pass `fuse_epilogues`.
const Op& fused_csr_dot_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused_csr_dot(GraphPtr body, std::vector<Expr> inputs);

/// Op::epilogue of csr_dot: products with matrices of a known number of columns, 2 at least.
const Epilogue& csr_dot_epilogue();

}  // namespace thtrain
