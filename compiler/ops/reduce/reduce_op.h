// The record of a reduction: types, identity, how two values combine. Its Op, its code and fused code come from it.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

struct Reduction {
  std::string name;
  std::string doc;  // Op::doc; shapes and dtypes follow from the record
  /// The dtype of accumulator and result for elements of this dtype; nullopt where there is none.
  std::function<std::optional<DType>(DType)> dtype;
  /// The neutral value, a scalar of the accumulator's dtype.
  std::function<kernel::Term(DType)> identity;
  /// Two accumulators in one; any number of lanes. An element is cast to the accumulator's dtype first.
  std::function<kernel::Term(kernel::Term, kernel::Term)> combine;
  /// The same of complex numbers where it is not that of each part. Null: parts are combined by themselves.
  std::function<Parts(const Parts&, const Parts&)> combine_complex = {};
  /// The operation of kernel::reduce_lanes for numbers: add, mul, max, min, and, or; see kernel::combine_lanes(). max
  /// and min of floats give NaN where a lane is NaN.
  std::string lanes;
  /// Rounds, so that the order matters: long runs are combined in blocks (kernel::kReduceBlock elements a
  /// lane), and the blocks' results in the dtype that kernel::wide_of() gives.
  bool rounds = false;
  /// Accumulates in the dtype that kernel::wide_of() gives, and is rounded once: no part of a result leaves the range
  /// of its dtype where the result does not.
  bool is_wide = false;
  /// False: a result of no elements is an error.
  bool empty_allowed = true;
  /// Combines n elements, side by side, into one of the accumulator's dtype: the definition.
  std::function<void(DType element, const void* elements, int64_t n, void* result)> reference;
  /// The input's cotangent; `out` and `cotangent` have the reduced axes with length 1. Null: no result is floating.
  /// Forward mode asks it with the input's tangent instead of `cotangent`, and adds up what it gives: an element's
  /// result may look at no other element of `cotangent`.
  std::function<Expr(const Expr& x, const Expr& out, const Expr& cotangent, const Ints& axes)> gradient = {};
  /// What rounding and the elements' errors do to a result: Op::error.
  ErrorRule error = {};
  /// Native against reference, units in the last place of the largest value; 0: equal bits.
  double ulps = 0;
  /// Integer elements of the test cases: such that every element can decide the result.
  int64_t int_low = 0, int_high = 4;
  std::source_location defined_at = std::source_location::current();
};

/// The record of a reduction's op, whose nodes have the properties "axes" (sorted Ints) and "keepdims" (bool); null for
/// other ops.
inline const Reduction* reduction_of(const Op& op) {
  return op.reduction;
}
/// The ops of all records, in the order of op_list.inc.
const std::vector<const Op*>& reduction_ops();

const Op& sum_op();
const Op& prod_op();
const Op& min_op();
const Op& max_op();
const Op& max_or_lowest_op();
const Op& any_op();
const Op& all_op();
const Op& argmin_op();
const Op& argmax_op();

/// The Op of a record that lives as long as the program; `self` gives it.
Op define_reduction(const Reduction& record, const Op& (*self)());

/// `value`, whose lengths are 1 or `like`'s, repeated to `like`'s lengths.
Expr repeat_like(const Expr& value, const Expr& like);

}  // namespace thtrain
