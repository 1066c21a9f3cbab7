// A minibatch of which only the numbers that are not 0 are given, as inputs of a function.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Examples [batch, features]. Example i has the numbers values[e] in the columns columns[places[e]], for e from
/// indptr[i] to indptr[i + 1] - 1, ascending, each once.
struct SparseExamples {
  Expr values;   // [stored]
  Expr places;   // int32 [stored]
  Expr indptr;   // int32 [batch + 1]
  Expr columns;  // int32 [used], ascending: the columns in which there are numbers
  Expr x;        // the same dense, for layers that know no better

  /// As inputs: another minibatch has other numbers `stored` and `used`.
  SparseExamples(const Dim& batch, int64_t features, DType dtype);
  /// In the order in which a function takes them.
  std::vector<Expr> inputs() const { return {values, places, indptr, columns}; }

  /// x W for a matrix W [features, units]. It reads the rows `columns` of W, and its gradient is one of these: nothing
  /// of [batch, features] or [features, units] is made.
  Expr times(const Expr& w) const { return times_used(used(w)); }
  /// The rows `columns` of W, and x W of these.
  Expr used(const Expr& w) const;
  Expr times_used(const Expr& rows) const;
};

}  // namespace thtrain
