// Transposes of sparse shared variables, which a function keeps from call to call.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// The transpose of a matrix whose parts are shared variables that the function only reads.
struct KeptTranspose {
  struct Parts {
    Expr data, indices, indptr;  // leaves of shared variables
  };
  Parts of, transposed;
  Tensor order = Tensor::empty(DType::kInt64, {0});     // which elements the transposed ones are
  uint64_t of_data = 0, of_indices = 0, of_indptr = 0;  // value_number() of what it is made of; 0: of nothing yet
};

/// Before: A^T x, where A lies in shared variables that nothing in the graph updates. After: B x, for a variable B
/// which keep_up() makes A^T: threads share the rows of B, whose sums stay in registers, while additions to columns
/// of A read and write the result for each element. In the bodies of loops nothing is changed.
Graph with_kept_transposes(const Graph& graph, std::vector<KeptTranspose>& kept);

/// Brings a transpose up to date with the variables that its parts stand for; `storage_of` gives the variable of a
/// leaf. Sorts where the pattern was given another value, and copies the elements where they were, or where somebody
/// else may write to their memory. UserError where the parts are none of a matrix.
void keep_up(KeptTranspose& kept, const std::function<SharedStorage&(const Expr& leaf)>& storage_of);

}  // namespace thtrain
