// Builders that sort, and what follows from an order: the greatest elements, positions in sorted values, counts.
#pragma once

#include <optional>
#include <utility>

#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- order ---------------------------------------------------------------------------------------------------------

/// The elements along an axis in ascending order; without an axis those of flatten(x). NaN comes last. Derivatives go
/// to the elements that were moved. Stable: of equal elements, such as zeros of both signs, the order stays. Complex
/// numbers are in the order of their real parts, then of their imaginary parts, those with a NaN last, as in NumPy.
Expr sort(const Operand& x, std::optional<int64_t> axis = -1);
/// The positions along the axis, int64, at which x has the elements of sort(x, axis): take_along_axis(x, argsort(x)) is
/// sort(x). As NumPy's argsort with kind="stable".
Expr argsort(const Operand& x, std::optional<int64_t> axis = -1);

/// From which end of the order elements are taken.
enum class Extreme : uint8_t { kLargest, kSmallest };
/// The k largest elements along an axis, the largest first, or the k smallest, the smallest first. NaN counts as larger
/// than any number. Derivatives go to the elements that were taken.
Expr topk(const Operand& x, const Length& k, int64_t axis = -1, Extreme extreme = Extreme::kLargest);
/// Their positions along the axis, int64; of equal elements the first come first.
Expr argtopk(const Operand& x, const Length& k, int64_t axis = -1, Extreme extreme = Extreme::kLargest);

/// Before or after equal elements; of an interval, the end that belongs to it.
enum class Side : uint8_t { kLeft, kRight };
/// For each value the position in a sorted vector where it would be inserted, int64: before the elements that equal it,
/// or after them. NaN counts as larger than any number. The vector must be in ascending order, which is not checked.
Expr searchsorted(const Operand& sorted, const Operand& values, Side side = Side::kLeft);
/// NumPy's digitize: for each value the number of its interval between ascending bins, of which `closed` tells the end
/// that belongs to it: 0 below all bins, as many as there are bins above.
Expr digitize(const Operand& x, const Operand& bins, Side closed = Side::kLeft);

/// How often each of the numbers 0, 1, ... comes in a vector of integers or bools, up to the largest one and at least
/// up to minlength - 1; with weights the sum of those. The data decides the length. A negative number is an error of
/// the call.
Expr bincount(const Operand& x, const std::optional<Operand>& weights = {}, int64_t minlength = 0);

/// What a histogram is of.
struct HistogramOptions {
  std::optional<std::pair<Operand, Operand>> range = {};  // of the first and the last bin; none: the least and greatest
  std::optional<Operand> weights = {};                    // of the shape of x
  // In the dtype of the edges, or of floating weights.
  bool density = false;  // counts divided by their sum and the widths of the bins: the integral is 1
};
struct Histogram {
  Expr counts, edges;
};
/// How many elements of x lie in each of so many bins of one width. A bin has its lower edge, the last one the upper
/// edge too; what lies outside, and NaN, is in none. Of no elements, where that is known, the bins go from 0 to 1; ends
/// that are equal are moved by 0.5. UserError, of the call where that is computed: an end that is not finite (of x too,
/// where no range is given), or a range that descends. The edges of float32 elements are float32.
Histogram histogram(const Operand& x, int64_t bins = 10, const HistogramOptions& options = {});
/// The same of bins between these ascending edges; edges that descend are an error of the call.
Histogram histogram(const Operand& x, const Expr& edges, const HistogramOptions& options = {});

/// What unique() finds; compute what is needed.
struct Unique {
  Expr values;   // each once, in ascending order; NaN once, and last
  Expr index;    // where flatten(x) has each of them first
  Expr inverse;  // of each element of x the position of its value among these
  Expr counts;   // how often each of them comes
};
/// The different elements of x. How many there are only the data decides: all but `inverse`, which has the shape of x,
/// are vectors of one length. Derivatives of the values go to the first of equal elements. Along an axis it finds the
/// different slices x[i] of that axis, in the order of their first elements, then of the second ones and so on; `index`
/// and `inverse` are of positions along the axis, and slices with a NaN differ from all others, as in NumPy.
Unique unique(const Operand& x, std::optional<int64_t> axis = {});

/// Differences of neighbours along an axis, x[1:] - x[:-1], n times; of bools, whether they differ. UserError where
/// n is negative, or above 1000 along an axis of unknown length.
Expr diff(const Operand& x, int64_t n = 1, int64_t axis = -1);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& sort_op();
const Op& argsort_op();
const Op& searchsorted_op();

}  // namespace thtrain
