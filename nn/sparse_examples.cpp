#include "nn/sparse_examples.h"

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/sparse/sparse.h"

namespace thtrain {

SparseExamples::SparseExamples(const Dim& batch, int64_t features, DType dtype)
    : values(tensor("x.values", {"stored"}, dtype)),
      places(tensor("x.places", {"stored"}, DType::kInt32)),
      indptr(tensor("x.indptr", {batch + Dim(1)}, DType::kInt32)),
      columns(tensor("x.columns", {"used"}, DType::kInt32)),
      x(dense(Sparse{
          .data = values, .indices = take(columns, places), .indptr = indptr, .rows = batch, .columns = features})) {}

Expr SparseExamples::used(const Expr& w) const {
  return take(w, columns);
}

Expr SparseExamples::times_used(const Expr& rows) const {
  const Sparse of_used{
      .data = values, .indices = places, .indptr = indptr, .rows = x.dims()[0], .columns = columns.dims()[0]};
  return dot(of_used, rows);
}

}  // namespace thtrain
