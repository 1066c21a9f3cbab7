// Builders that read and write parts of a value: slices, rows, and elements that integer vectors name.
#pragma once

#include <concepts>
#include <optional>
#include <variant>
#include <vector>

#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- index ---------------------------------------------------------------------------------------------------------

/// start:stop:step with NumPy's meaning: negative ends count from the end of the axis, ends beyond it are moved to it.
/// Slice{.start = 1}, Slice{.stop = -1}, Slice{.step = -1}; step is a constant. Ends that are expressions are integer
/// scalars as in Length; `rows` takes a start that only the data decides.
struct Slice {
  std::optional<Operand> start = {}, stop = {}, step = {};
};

/// All of an axis.
inline Slice all() {
  return {};
}

/// The index of one axis in x[...]: an integer, which drops the axis, a slice, or integers, which name elements and
/// are broadcast with each other: x[{i, j}][k] = x[{i[k], j[k]}].
/// Alone an integer tensor or a mask.
class Index {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) Index(T number, std::source_location where = std::source_location::current())
      : value_(Operand(number, where)), where_(where) {}
  Index(const Expr& number, std::source_location where = std::source_location::current())
      : value_(Operand(number, where)), where_(where) {}
  template <class T>
  requires requires(const T& t) {
    { t.expr() } -> std::convertible_to<const Expr&>;
  }
  Index(const T& variable, std::source_location where = std::source_location::current())
      : Index(static_cast<const Expr&>(variable.expr()), where) {}
  Index(const Slice& slice, std::source_location where = std::source_location::current())
      : value_(slice), where_(where) {}

  const Slice* slice() const { return std::get_if<Slice>(&value_); }
  const Operand& number() const { return std::get<Operand>(value_); }
  const std::source_location& where() const { return where_; }

 private:
  std::variant<Operand, Slice> value_;
  std::source_location where_;
};

/// x[i, j, ...]: one index for each of the first axes, the other axes whole. A view, but for integers that only the
/// data decides. An integer out of range is a UserError: now where it is known, else when a call begins or when it is
/// read.
Expr subtensor(const Operand& x, const std::vector<Index>& indices);
/// `count` rows from row `start` on: x[start : start + count] of exactly `count` rows. That they are there is checked:
/// now, when a call begins, or (where only the data decides `start`) when they are read. Negative starts are not.
Expr rows(const Operand& x, const Operand& start, const Length& count);
/// The same along any axis.
Expr slice_axis(const Operand& x, int64_t axis, const Operand& start, const Length& count);

/// The value that `part` was taken from (by subtensor, rows, slice_axis or a mask) with that part replaced by y. y
/// broadcasts to the part and does not widen the dtype; the number of values for a mask's elements is checked by the
/// call. In place where nobody else reads the old value.
Expr set_subtensor(const Expr& part, const Operand& y);
/// The same with y added to the part, which may be a result of `take`, `pick_rows` and x[{i, j}] too.
Expr inc_subtensor(const Expr& part, const Operand& y);

/// y[..., i_0, i_1, ..., ...] = x[..., indices[i_0, i_1, ...], ...]: elements of an axis by number, negative ones from
/// the end. The lengths of `indices` are where the axis was.
Expr take(const Operand& x, const Operand& indices, int64_t axis = 0);
/// x with y added to the elements that take(x, indices, axis) reads; an element that is named twice gets both, in
/// order.
Expr scatter_add(const Operand& x, const Operand& indices, const Operand& y, int64_t axis = 0);

/// NumPy's take_along_axis: y[a, i, c] = x[a, indices[a, i, c], c] for the axes a before and c after `axis`, whose
/// lengths x and the indices share; negative ones count from the end.
Expr take_along_axis(const Operand& x, const Operand& indices, int64_t axis);
/// x with y added to the elements that take_along_axis(x, indices, axis) reads, in order.
Expr scatter_add_along_axis(const Operand& x, const Operand& indices, const Operand& y, int64_t axis);

/// NumPy's nonzero: for each axis of x an int64 vector, which together name the elements that are not 0, in row-major
/// order. How many there are only the data decides: the vectors have a length of their own, the same for every use of
/// x.
std::vector<Expr> nonzero(const Operand& x);
/// The same as indices of flatten(x).
Expr flatnonzero(const Operand& x);
/// NumPy's x[mask]: the rows of x at which a bool vector is true, or the elements at which bools of the shape of x are,
/// as a vector. Its gradient is 0 where the mask is false. That the lengths fit is checked.
Expr masked(const Operand& x, const Operand& mask);

/// NumPy's x[arange(n), columns]: of each row of x [n, m], the element that its index names, a negative one from the
/// end. The cross-entropies refuse negative labels, which are mistakes in the data: `negative` says which is meant.
enum class Negative { kFromEnd, kRefused };
Expr pick_rows(const Operand& x, const Operand& columns, Negative negative = Negative::kFromEnd);
/// x with y[i] added to x[i, columns[i]].
Expr scatter_add_rows(const Operand& x, const Operand& columns, const Operand& y,
                      Negative negative = Negative::kFromEnd);
/// NumPy's compress: the elements along an axis at which a vector is not 0, x[condition] for any axis; without an axis
/// those of flatten(x). The vector may be shorter than the axis.
Expr compress(const Operand& condition, const Operand& x, std::optional<int64_t> axis = {});
/// Of each row (along the last axis) the elements that the indices name, in their order, negative ones from the end:
/// one vector for all rows, or as many axes as x has. NumPy's take_along_axis(x, indices, -1).
Expr permute_row_elements(const Operand& x, const Operand& indices);
/// The vector q with q[p[i]] = i. That p has each number once is not checked.
Expr inverse_permutation(const Operand& p);

/// What becomes of a number outside of 0, ..., n - 1: an error, its remainder, or the nearest one. NumPy's modes
/// "raise", "wrap" and "clip".
enum class OutOfRange { kRefused, kWrapped, kClipped };
/// NumPy's choose: of choices[0], choices[1], ... each element from the one whose number its index is; all of them are
/// computed, and broadcast with the indices.
Expr choose(const Operand& indices, const std::vector<Operand>& choices,
            OutOfRange out_of_range = OutOfRange::kRefused);
/// NumPy's unravel_index: the indices along each axis, int64, of the elements that have these numbers in row-major
/// order. An error where a number is outside of the array.
std::vector<Expr> unravel_index(const Operand& numbers, const LengthList& lengths);
/// NumPy's ravel_multi_index: the numbers in row-major order, int64, of the elements with these indices, one for each
/// axis.
Expr ravel_multi_index(const std::vector<Operand>& indices, const LengthList& lengths,
                       OutOfRange out_of_range = OutOfRange::kRefused,
                       std::source_location where = std::source_location::current());

// ---- make values ---------------------------------------------------------------------------------------------------

/// 1 at each label's index along a new last axis of n elements, 0 elsewhere: labels [...] -> [..., n]. The labels are
/// integers (UserError otherwise); one below 0 or not below n is an error when it is read. No dtype means floatX.
Expr one_hot(const Operand& labels, const Length& n, std::optional<DType> dtype = {});

/// NumPy's ogrid: numbers along each axis, arange(start, stop, step) of its slice, with axes of length 1 for the other
/// slices: ogrid({{.stop = 3}, {.start = 1, .stop = 5, .step = 2}}). A slice without a stop is a UserError.
std::vector<Expr> ogrid(const std::vector<Slice>& axes, std::source_location where = std::source_location::current());
/// The same, each repeated to the lengths of all: NumPy's mgrid.
std::vector<Expr> mgrid(const std::vector<Slice>& axes, std::source_location where = std::source_location::current());

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// y[i, c] = x[indices_0[i], indices_1[i], ..., c]: index tensors, broadcast together, for as many of the first axes.
Expr gather(const Expr& x, const std::vector<Operand>& indices);
/// slice_axis with a start that is a length.
Expr slice_of_axis(const Operand& x, int64_t axis, const Dim& start, const Dim& count);

const Op& subtensor_op();
const Op& inc_subtensor_op();
const Op& gather_op();
const Op& scatter_op();
const Op& nonzero_op();

}  // namespace thtrain
