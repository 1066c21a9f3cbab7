// Builders that change, ask for or make shapes. Most of them are views: they cost nothing at run time.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- shape ---------------------------------------------------------------------------------------------------------

/// Axis k of the result is axis order[k] of x, or a new axis of length 1 where order[k] is -1. Axes that `order` leaves
/// out must have the known length 1. The one op behind transpose, expand_dims and squeeze.
Expr dimshuffle(const Operand& x, std::vector<int64_t> order);
/// Axes in reverse order.
Expr transpose(const Operand& x);
/// Axis k of the result is axis axes[k] of x.
Expr transpose(const Operand& x, const std::vector<int64_t>& axes);
/// New axes of length 1; `axes` are axes of the result.
Expr expand_dims(const Operand& x, const std::vector<int64_t>& axes);
/// Drops axes of known length 1: those named, or all of them.
Expr squeeze(const Operand& x, const std::vector<int64_t>& axes);
Expr squeeze(const Operand& x);
/// The same elements in row-major order under other lengths; one of them may be -1: what is left.
Expr reshape(const Operand& x, const LengthList& lengths);
/// The first ndim - 1 axes stay, the others become one. flatten(x) is a vector.
Expr flatten(const Operand& x, int64_t ndim = 1);
/// x repeated along new axes on the left and along axes of known length 1. The gradient sums over them.
Expr broadcast_to(const Operand& x, const LengthList& lengths);
/// x repeated to the lengths of `like`, whose value is not needed.
Expr broadcast_like(const Operand& x, const Operand& like);
/// x with two axes exchanged.
Expr swapaxes(const Operand& x, int64_t first, int64_t second);
/// NumPy's moveaxis: axis source[i] of x is axis destination[i] of the result, the other axes keep their order.
Expr moveaxis(const Operand& x, const std::vector<int64_t>& source, const std::vector<int64_t>& destination);
Expr moveaxis(const Operand& x, int64_t source, int64_t destination);
/// n new axes of length 1 before the others, or behind them. (Theano's shape_padaxis is expand_dims of one axis.)
Expr shape_padleft(const Operand& x, int64_t n = 1);
Expr shape_padright(const Operand& x, int64_t n = 1);
/// NumPy's atleast_1d and atleast_2d: new axes of length 1 before the others until there are n.
Expr atleast_nd(const Operand& x, int64_t n);
/// The elements along these axes in reverse order; no axes means all of them.
Expr flip(const Operand& x, const std::vector<int64_t>& axes = {});
/// NumPy's roll: the elements moved by `shift` places along an axis, those that leave it at one end come back at the
/// other; without an axis those of flatten(x), in the shape of x. The shift is an integer scalar of any sign. A copy.
Expr roll(const Operand& x, const Operand& shift, std::optional<int64_t> axis = {});
/// NumPy's tile: x as often as copies[i] along axis i. Of x and `copies` the one with fewer axes gets axes of length 1,
/// or ones, on the left. A copy.
Expr tile(const Operand& x, const LengthList& copies);
/// NumPy's and Theano's repeat (here the name of a loop): each element along an axis `counts` times, one after the
/// other; without an axis those of flatten(x). A count for all, or a vector of one for each element. A copy. An error
/// where a count is negative.
Expr repeat_elements(const Operand& x, const Operand& counts, std::optional<int64_t> axis = {});

// ---- lengths -------------------------------------------------------------------------------------------------------

/// The length of an axis as an int64 scalar. Does not compute x.
Expr length(const Operand& x, int64_t axis);
/// The lengths of all axes as int64 scalars.
std::vector<Expr> shape(const Operand& x);
/// The lengths of all axes as Dims, for builders that take lengths.
Dims shape_dims(const Operand& x);
/// The number of elements as an int64 scalar.
Expr size(const Operand& x);

/// An integer scalar that the graph computes, as a length: zeros({computed_length(n)}). It must not be negative, which
/// a call checks. Buffers of such a length are allocated when the call knows it. Where the value can be told before the
/// graph runs it is that length, as in Length.
Dim computed_length(const Operand& n);
// ---- join and split ------------------------------------------------------------------------------------------------

/// Values one after the other along an axis; the other lengths agree. dtypes are promoted.
Expr join(int64_t axis, const std::vector<Operand>& values,
          std::source_location where = std::source_location::current());
Expr concatenate(const std::vector<Operand>& values, int64_t axis = 0,
                 std::source_location where = std::source_location::current());
/// Values of one shape along a new axis.
Expr stack(const std::vector<Operand>& values, int64_t axis = 0,
           std::source_location where = std::source_location::current());
/// NumPy's hstack, Theano's horizontal_stack: joined along axis 1, vectors and scalars along axis 0.
Expr hstack(const std::vector<Operand>& values, std::source_location where = std::source_location::current());
/// NumPy's vstack, Theano's vertical_stack: joined along axis 0, of vectors as rows of a matrix.
Expr vstack(const std::vector<Operand>& values, std::source_location where = std::source_location::current());
/// Pieces of these lengths along an axis, which they fill.
std::vector<Expr> split(const Operand& x, const LengthList& sizes, int64_t axis = 0);

// ---- make values ---------------------------------------------------------------------------------------------------
// No dtype means floatX for zeros, ones, eye, tri and bartlett, and the value's own for full.

/// 0 everywhere.
Expr zeros(const LengthList& lengths, std::optional<DType> dtype = {},
           std::source_location where = std::source_location::current());
/// 1 everywhere.
Expr ones(const LengthList& lengths, std::optional<DType> dtype = {},
          std::source_location where = std::source_location::current());
/// A scalar repeated: a view of it.
Expr full(const LengthList& lengths, const Operand& value, std::optional<DType> dtype = {});
/// The same with the lengths of x, whose value is not needed; no dtype means that of x.
Expr zeros_like(const Operand& x, std::optional<DType> dtype = {});
Expr ones_like(const Operand& x, std::optional<DType> dtype = {});
Expr full_like(const Operand& x, const Operand& value, std::optional<DType> dtype = {});
/// n rows, m columns (none given: n), ones where column - row == k.
Expr eye(const Length& n, std::optional<Length> m = {}, int64_t k = 0, std::optional<DType> dtype = {},
         std::source_location where = std::source_location::current());
/// eye with the lengths of a matrix, whose value is not needed; no dtype means its own.
Expr identity_like(const Operand& x, std::optional<DType> dtype = {});
/// n rows, m columns (none given: n), ones where column - row <= k, else 0: NumPy's tri.
Expr tri(const Length& n, std::optional<Length> m = {}, int64_t k = 0, std::optional<DType> dtype = {},
         std::source_location where = std::source_location::current());
/// The matrices of the last two axes with 0 above diagonal k, or below it: NumPy's tril and triu. UserError where there
/// are fewer axes.
Expr tril(const Operand& x, int64_t k = 0);
Expr triu(const Operand& x, int64_t k = 0);
/// NumPy's diag: a vector on diagonal k of a square matrix that is 0 elsewhere, or diagonal k of a matrix.
Expr diag(const Operand& x, int64_t k = 0);
/// The elements at which axis2 - axis1 == offset, along a new last axis; the other axes keep their order. NumPy's
/// diagonal, as a copy.
Expr diagonal(const Operand& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// A matrix with a scalar where column - row == offset: Theano's fill_diagonal and fill_diagonal_offset. UserError
/// where the value would widen the dtype.
Expr fill_diagonal(const Operand& x, const Operand& value, int64_t offset = 0);
/// NumPy's bartlett: the triangular window of n points from 0 to 1 to 0, none where n < 1. n is an integer scalar.
Expr bartlett(const Operand& n, std::optional<DType> dtype = {});
/// 0, 1, ... below stop; start, start + step, ... before stop. Integers give int64, floats floatX. The step is a
/// constant, and floating arguments are constants; start and stop may be integers that the graph computes.
Expr arange(const Operand& stop, std::optional<DType> dtype = {});
Expr arange(const Operand& start, const Operand& stop, const Operand& step = 1, std::optional<DType> dtype = {});

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// What other builders make such lengths with: n as the value of a length that is at most `bound`, named after the
/// value `of`, and `key` where n depends on more. Equal arguments give equal names. And the length that this output
/// defines.
Expr define_length(const Expr& n, const Expr& of, const std::optional<Dim>& bound, const std::source_location& where,
                   std::string_view key = {});
Dim defined_length(const Expr& defined);

const Op& dimshuffle_op();
const Op& reshape_op();
const Op& broadcast_to_op();
const Op& length_op();
const Op& define_length_op();
const Op& join_op();
const Op& eye_op();
const Op& arange_op();

}  // namespace thtrain
