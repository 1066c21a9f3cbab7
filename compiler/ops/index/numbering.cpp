// Builders over numbers of elements: grids of them, their forms, and what they choose.
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr int64_of(const Operand& operand, std::string_view builder) {
  const Expr x = operand.expr();
  if (!is_int(x.dtype()))
    fail_build(operand.where(), str(builder, ": the indices are no integers"), "integers", value_text(x));
  return cast(operand, DType::kInt64);
}

Expr value_of(const Dim& length) {
  return apply(length_op(), {}, {{"dim", Dims{length}}});
}

// Numbers from 0 to n - 1 of any.
Expr within(const Expr& i, const Expr& n, OutOfRange out_of_range, const std::string& message) {
  switch (out_of_range) {
    case OutOfRange::kWrapped:
      return mod(i, n);
    case OutOfRange::kClipped:
      return clip(i, 0, n - 1);
    case OutOfRange::kRefused:
      break;
  }
  return check(i, all(logical_and(ge(i, 0), lt(i, n))), message);
}

}  // namespace

std::vector<Expr> ogrid(const std::vector<Slice>& axes, std::source_location where) {
  Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> out;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const Slice& slice = axes[axis];
    if (!slice.stop) fail_build(where, str("ogrid: axis ", axis, " has no stop"), "Slice{.stop = n}");
    std::vector<int64_t> order(axes.size(), -1);
    order[axis] = 0;
    out.push_back(
        dimshuffle(arange(slice.start.value_or(Operand(0)), *slice.stop, slice.step.value_or(Operand(1))), order));
  }
  return out;
}

std::vector<Expr> mgrid(const std::vector<Slice>& axes, std::source_location where) {
  Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> out = ogrid(axes, where);
  Dims lengths;
  for (size_t axis = 0; axis < out.size(); ++axis) lengths.push_back(out[axis].dims()[axis]);
  for (Expr& numbers : out) numbers = broadcast_to(numbers, lengths);
  return out;
}

std::vector<Expr> unravel_index(const Operand& indices, const LengthList& lengths) {
  Origin origin = Origin::here(indices.where());
  InheritOrigin inherit(origin);
  Expr rest = within(int64_of(indices, "unravel_index"), value_of(product(lengths.dims)), OutOfRange::kRefused,
                     "unravel_index: an index is outside of the array");
  std::vector<Expr> out(lengths.dims.size());
  for (size_t axis = out.size(); axis-- > 0;) {
    const Expr n = value_of(lengths.dims[axis]);
    out[axis] = axis > 0 ? mod(rest, n) : rest;
    if (axis > 0) rest = floor_div(rest, n);
  }
  return out;
}

Expr ravel_multi_index(const std::vector<Operand>& indices, const LengthList& lengths, OutOfRange out_of_range,
                       std::source_location where) {
  if (indices.size() != lengths.dims.size() || indices.empty())
    fail_build(where, str("ravel_multi_index: ", indices.size(), " indices for ", lengths.dims.size(), " axes"),
               "an index for each axis");
  Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  Expr out;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const Expr n = value_of(lengths.dims[axis]);
    const Expr i = within(int64_of(indices[axis], "ravel_multi_index"), n, out_of_range,
                          str("ravel_multi_index: an index is outside of axis ", axis));
    out = axis == 0 ? i : out * n + i;
  }
  return out;
}

Expr choose(const Operand& indices, const std::vector<Operand>& choices, OutOfRange out_of_range) {
  if (choices.empty()) fail_build(indices.where(), "choose: there are no choices", "one or more");
  Origin origin = Origin::here(indices.where());
  InheritOrigin inherit(origin);
  const Expr i = within(int64_of(indices, "choose"), make_constant(Tensor(static_cast<int64_t>(choices.size()))),
                        out_of_range, "choose: an index names no choice");
  // Broadcast with the indices also where they choose nothing.
  Expr out = where(ge(i, 0), choices.back(), choices.back());
  for (size_t k = choices.size() - 1; k-- > 0;) out = where(eq(i, static_cast<int64_t>(k)), choices[k], out);
  return out;
}

Expr inverse_permutation(const Operand& permutation) {
  if (permutation.expr().rank() != 1)
    fail_build(permutation.where(), "inverse_permutation: no vector", "1 axis", value_text(permutation.expr()));
  Origin origin = Origin::here(permutation.where());
  InheritOrigin inherit(origin);
  const Expr p = int64_of(permutation, "inverse_permutation");
  return scatter_add(zeros_like(p), p, arange(length(p, 0)));
}

Expr permute_row_elements(const Operand& operand, const Operand& permutations) {
  const Expr x = operand.expr(), given = permutations.expr();
  if (x.rank() == 0 || (given.rank() != 1 && given.rank() != x.rank()))
    fail_build(operand.where(), "permute_row_elements: the indices are neither of all rows nor of each",
               "a vector, or as many axes as the values have", str(value_text(x), ", indices ", value_text(given)));
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr indices = int64_of(permutations, "permute_row_elements");
  if (given.rank() == 1) return take(operand, indices, -1);
  Dims lengths(x.dims().begin(), x.dims().end() - 1);
  const Dim rows = product(lengths);
  const Expr chosen = gather(reshape(operand, {rows, x.dims().back()}),
                             {expand_dims(arange(value_of(rows)), {1}), reshape(indices, {rows, given.dims().back()})});
  lengths.push_back(given.dims().back());
  return reshape(chosen, lengths);
}

Expr compress(const Operand& condition, const Operand& x, std::optional<int64_t> axis) {
  if (condition.expr().rank() != 1)
    fail_build(condition.where(), "compress: the condition is no vector", "1 axis", value_text(condition.expr()));
  Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return take(axis ? x.expr() : flatten(x), flatnonzero(condition), axis.value_or(0));
}

}  // namespace thtrain
