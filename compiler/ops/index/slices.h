// Slices and integers along some axes of a value.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/index/index.h"

namespace thtrain {

/// x[i, j, ...] for integers and slices that need no positions, one for each of the first axes.
Expr rectangular_part(const Expr& x, const std::vector<Index>& indices, std::source_location where);

/// Must the elements be named one by one? Else they lie in a rectangular part that begins where a call knows.
bool needs_positions(const Slice& slice);

/// A slice with ends or a step that the graph computes.
class ComputedSlice {
 public:
  ComputedSlice(const Expr& x, size_t axis, const Slice& slice, std::source_location where);

  Dim count() const;       // the same name for equal slices
  Expr positions() const;  // of the elements along the axis, int64[count]

 private:
  std::source_location where_;
  Dim bound_;
  std::string key_;
  Expr named_after_, start_, step_, count_;
};

}  // namespace thtrain
