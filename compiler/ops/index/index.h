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
/// Slice{.start = 1}, Slice{.stop = -1}, Slice{.step = -1}. All three may be integer scalars that the graph computes:
/// how many elements there are is then a length of its own. Where only the stop is computed, the part is a view; else
/// the elements are copied. A step of 0 is a UserError.
struct Slice {
  std::optional<Operand> start = {}, stop = {}, step = {};
};
/// All of an axis.
inline Slice all() {
  return {};
}

/// NumPy's `...`: the axes that no other index takes, whole.
struct Ellipsis {};
inline Ellipsis ellipsis() {
  return {};
}
/// NumPy's newaxis: an axis of length 1 of the part.
struct NewAxis {};
inline NewAxis new_axis() {
  return {};
}

/// One index of x[{...}]: an integer, which drops an axis; a slice; an integer tensor, which names elements of an axis;
/// a mask, bools over as many axes as it has; an ellipsis; or a new axis.
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
  Index(Ellipsis ellipsis, std::source_location where = std::source_location::current())
      : value_(ellipsis), where_(where) {}
  Index(NewAxis axis, std::source_location where = std::source_location::current()) : value_(axis), where_(where) {}

  const Slice* slice() const { return std::get_if<Slice>(&value_); }
  bool is_ellipsis() const { return std::holds_alternative<Ellipsis>(value_); }
  bool is_new_axis() const { return std::holds_alternative<NewAxis>(value_); }
  const Operand& number() const { return std::get<Operand>(value_); }  // or the tensor
  const std::source_location& where() const { return where_; }

 private:
  std::variant<Operand, Slice, Ellipsis, NewAxis> value_;
  std::source_location where_;
};

/// NumPy's x[i, j, ...], which x[{i, j, ...}] calls: indices for the first axes, the other axes whole. Integers, slices
/// and new axes give a view, but for integers that only the data decides. Integer tensors and masks are broadcast with
/// each other; their axes are where the first of them was, or first where slices are between them. An index out of
/// range is a UserError: now where it is known, else when a call begins or when it is read; that a mask has the lengths
/// of its axes is checked too.
Expr subtensor(const Operand& x, const std::vector<Index>& indices);
/// `count` rows from row `start` on: x[start : start + count] of exactly `count` rows. That they are there is checked:
/// now, when a call begins, or (where only the data decides `start`) when they are read. Negative starts are not.
Expr rows(const Operand& x, const Operand& start, const Length& count);
/// The same along any axis.
Expr slice_axis(const Operand& x, int64_t axis, const Operand& start, const Length& count);

/// The value that `part` was taken from (by x[...], subtensor, rows, slice_axis, take, masked or pick_rows) with that
/// part replaced by y. y broadcasts to the part and does not widen the dtype; the number of values for a mask's
/// elements is checked by the call. Of several values for one element the last one stays. In place where nobody else
/// reads the old value.
Expr set_subtensor(const Expr& part, const Operand& y);
/// The same with y added to the part: an element that is named twice gets both, in order.
Expr inc_subtensor(const Expr& part, const Operand& y);

/// What becomes of a number outside of 0, ..., n - 1: an error (but for those from the end, where an index counts from
/// there), its remainder, or the nearest one. NumPy's modes "raise", "wrap" and "clip".
enum class OutOfRange { kRefused, kWrapped, kClipped };
/// y[..., i_0, i_1, ..., ...] = x[..., indices[i_0, i_1, ...], ...]: elements of an axis by number, negative ones from
/// the end, or 0 where they are clipped. The lengths of `indices` are where the axis was. Without an axis, as NumPy has
/// it, is take(flatten(x), indices).
Expr take(const Operand& x, const Operand& indices, int64_t axis = 0, OutOfRange out_of_range = OutOfRange::kRefused);
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
/// NumPy's x[mask]: the elements of the first axes at which a bool tensor over these axes is true, in row-major order.
/// Its gradient is 0 where the mask is false. That the lengths fit is checked.
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

/// y[a, i, c] = x[a, indices_0[i], indices_1[i], ..., c]: index tensors, broadcast together, for as many axes from
/// `first` on. `shown`: the user's numbers of these axes, for messages, where they are others. `distinct`: no element
/// is named twice.
Expr gather(const Expr& x, const std::vector<Operand>& indices, size_t first = 0, const Ints& shown = {},
            bool distinct = false);
/// The indices of the true elements of a mask with axes, in its elements' row-major order. The length is named after
/// `of`, from which the mask was made.
Expr indices_of_mask(const Expr& mask, const Expr& of, const std::source_location& where);
/// slice_axis with a start that is a length.
Expr slice_of_axis(const Operand& x, int64_t axis, const Dim& start, const Dim& count);

const Op& subtensor_op();
const Op& inc_subtensor_op();
const Op& gather_op();
const Op& scatter_op();
const Op& nonzero_op();

}  // namespace thtrain
