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
Expr join(int64_t axis, const std::vector<Operand>& values);
Expr concatenate(const std::vector<Operand>& values, int64_t axis = 0);
/// Values of one shape along a new axis.
Expr stack(const std::vector<Operand>& values, int64_t axis = 0);
/// Pieces of these lengths along an axis, which they fill.
std::vector<Expr> split(const Operand& x, const LengthList& sizes, int64_t axis = 0);

// ---- make values ---------------------------------------------------------------------------------------------------
// No dtype means floatX for zeros, ones and eye, and the value's own for full.

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
/// 0, 1, ... below stop; start, start + step, ... before stop. Integers give int64, floats floatX. The step is a
/// constant, and floating arguments are constants; start and stop may be integers that the graph computes.
Expr arange(const Operand& stop, std::optional<DType> dtype = {});
Expr arange(const Operand& start, const Operand& stop, const Operand& step = 1, std::optional<DType> dtype = {});

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// What other builders make such lengths with: n as the value of a length that is at most `bound`, named after the
/// value `of`. Equal arguments give equal names. And the length that this output defines.
Expr define_length(const Expr& n, const Expr& of, const std::optional<Dim>& bound, const std::source_location& where);
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
