// Rows, columns and elements of sparse matrices, and matrices put together.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/construction.h"

namespace thtrain {
namespace {

Expr int64_of(const Expr& x) {
  return cast(x, DType::kInt64);
}

bool is_whole(const Index& index) {
  const Slice* slice = index.slice();
  return slice && !slice->start && !slice->stop && !slice->step;
}

/// The numbers along an axis that an index names, int64.
Expr numbers_of(const Index& index, const Dim& length) {
  if (index.is_ellipsis() || index.is_new_axis() || (!index.slice() && index.number().expr().rank() != 1))
    fail_build(index.where(), "subtensor of a sparse matrix: an index is neither a slice nor a vector",
               "slices, integer vectors or masks", {},
               "elements(a, i, j) has single elements, a slice i : i + 1 a row");
  return int64_of(subtensor(arange(length_as_value(length)), {index}));
}

void set_lengths(Sparse& a, const Dim& major, const Dim& minor) {
  const bool is_csr = a.format == SparseFormat::kCsr;
  a.rows = is_csr ? major : minor;
  a.columns = is_csr ? minor : major;
}

Sparse majors_taken(const Sparse& a, const Expr& which) {
  const Expr begins = int64_of(a.indptr), first = take(begins, which);
  const Ranges kept = ranges(first, take(begins, which + 1) - first);
  Sparse out = with_data(a, take(a.data, kept.numbers));
  out.indices = take(a.indices, kept.numbers);
  out.indptr = cast(kept.begins, a.indptr.dtype());
  set_lengths(out, which.dims()[0], minor_of(a));
  return out;
}

// A slice without a step: what is inside stays where it is. (The sum is the first number, of none 0.)
Sparse minors_between(const Sparse& a, const Expr& which) {
  const Expr first = sum(subtensor(which, {Slice{.stop = 1}})), moved = int64_of(a.indices) - first;
  const Expr kept = flatnonzero(logical_and(ge(moved, 0), lt(moved, length(which, 0))));
  Sparse out = with_elements(a, kept, take(a.data, kept));
  out.indices = cast(take(moved, kept), a.indices.dtype());
  set_lengths(out, major_of(a), which.dims()[0]);
  return out;
}

Sparse minors_taken(const Sparse& a, const Index& index) {
  const Expr which = numbers_of(index, minor_of(a));
  if (const Slice* slice = index.slice(); slice && !slice->step) return minors_between(a, which);
  const SparseFormat other = a.format == SparseFormat::kCsr ? SparseFormat::kCsc : SparseFormat::kCsr;
  return in_format(majors_taken(in_format(a, other), which), a.format);
}

/// Numbers along an axis as they are from 0 on; a call fails where one is outside.
Expr counted_from_zero(const Operand& numbers, const Dim& length) {
  return take(arange(length_as_value(length)), numbers);
}

/// Matrices whose minor lengths agree, along the major axis.
Sparse in_sequence(const std::vector<Sparse>& parts) {
  std::vector<Operand> data, indices, begins;
  Dim major(0);
  Expr stored;
  for (const Sparse& part : parts) {
    data.emplace_back(part.data);
    indices.emplace_back(part.indices);
    const Expr of_part = int64_of(part.indptr);
    begins.emplace_back(begins.empty() ? of_part : subtensor(of_part, {Slice{.start = 1}}) + stored);
    stored = begins.size() == 1 ? length(part.data, 0) : stored + length(part.data, 0);
    major = major + major_of(part);
  }
  Sparse out = with_data(parts[0], join(0, data));
  out.indices = join(0, indices);
  out.indptr = cast(join(0, begins), out.indices.dtype());
  set_lengths(out, major, minor_of(parts[0]));
  return out;
}

/// Matrices whose major lengths agree, along the minor axis: an element of a row comes after those of that row in the
/// matrices before, and of the rows above in all matrices.
Sparse side_by_side(const std::vector<Sparse>& parts) {
  std::vector<Operand> data, indices, places;
  Dim minor(0);
  Expr begins;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Sparse& part = parts[k];
    data.emplace_back(part.data);
    indices.emplace_back(int64_of(part.indices) + length_as_value(minor));
    const Expr of_part = int64_of(part.indptr), row = majors_of(part);
    begins = k == 0 ? of_part : begins + of_part;
    Expr place = arange(length(part.data, 0));
    for (size_t l = 0; l < parts.size(); ++l)
      if (l != k) place = place + take(int64_of(parts[l].indptr), l < k ? row + 1 : row);
    places.emplace_back(place);
    minor = minor + minor_of(part);
  }
  const Expr order = inverse_permutation(join(0, places));
  Sparse out = with_data(parts[0], take(join(0, data), order));
  out.indices = cast(take(join(0, indices), order), parts[0].indices.dtype());
  out.indptr = cast(begins, parts[0].indptr.dtype());
  set_lengths(out, major_of(parts[0]), minor);
  return out;
}

Sparse stacked(const std::vector<SparseOperand>& matrices, bool along_rows, const char* what,
               const std::source_location& where) {
  if (matrices.empty()) fail_build(where, str(what, ": there is no matrix"), "one or more");
  const CallersLine line(where);
  const SparseFormat format = matrices[0].value().format;
  std::vector<Sparse> parts;
  for (const SparseOperand& matrix : matrices) {
    parts.push_back(in_format(matrix.value(), format));
    const Dim &first = along_rows ? parts[0].columns : parts[0].rows,
              &length = along_rows ? parts.back().columns : parts.back().rows;
    if (first.is_known() && length.is_known() && !(first == length))
      fail_build(
          matrix.where(),
          str(what, ": matrices of ", first.text(), " and of ", length.text(), along_rows ? " columns" : " rows"),
          along_rows ? "the same number of columns" : "the same number of rows");
    parts.back() = with_equal_lengths(parts.back(), {first}, {length}, what);
  }
  Sparse out = along_rows == (format == SparseFormat::kCsr) ? in_sequence(parts) : side_by_side(parts);
  if (std::ranges::none_of(parts, [](const Sparse& part) { return part.whole.has_value(); })) return out;
  std::vector<Operand> wholes;
  for (const Sparse& part : parts) wholes.emplace_back(part.whole.has_value() ? part.whole : dense(part));
  out.whole = join(along_rows ? 0 : 1, wholes);
  return out;
}

}  // namespace

Sparse subtensor(const SparseOperand& operand, const std::vector<Index>& indices) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  if (indices.empty() || indices.size() > 2)
    fail_build(operand.where(), str("subtensor of a sparse matrix: ", indices.size(), " indices are given"),
               "one of rows, or one of rows and one of columns");
  const Index every{Slice{}};
  const Index &rows = indices[0], &columns = indices.size() == 2 ? indices[1] : every;
  const bool is_csr = a.format == SparseFormat::kCsr;
  const Index &majors = is_csr ? rows : columns, &minors = is_csr ? columns : rows;
  Sparse out = a;
  if (!is_whole(majors)) out = majors_taken(out, numbers_of(majors, major_of(a)));
  if (!is_whole(minors)) out = minors_taken(out, minors);
  return of_kind(a, std::move(out), [&](const Expr& whole) {
    return subtensor(subtensor(whole, {rows}), {all(), columns});
  });
}

Expr elements(const SparseOperand& operand, const Operand& i, const Operand& j) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const auto of_whole = [&](const Expr& whole) { return subtensor(whole, {Index(i.expr()), Index(j.expr())}); };
  const bool is_csr = a.format == SparseFormat::kCsr;
  const Expr major = counted_from_zero(is_csr ? i : j, major_of(a)),
             minor = counted_from_zero(is_csr ? j : i, minor_of(a));
  if (major.rank() == 0 && minor.rank() == 0) {
    const Sparse slice = majors_taken(a, expand_dims(major, {0}));
    return of_kind(a, sum(switch_(eq(slice.indices, minor), slice.data, zeros_like(slice.data))), of_whole);
  }
  const Expr stored = places_of(a), place = major * length_as_value(minor_of(a)) + minor;
  const Expr at = searchsorted(stored, place);
  const Expr found = take(join(0, {stored, make_constant(Tensor::vector<int64_t>({-1}))}), at);
  return of_kind(a, switch_(eq(found, place), take(join(0, {a.data, zeros({1}, a.dtype())}), at), zeros({}, a.dtype())),
                 of_whole);
}

Sparse vstack(const std::vector<SparseOperand>& matrices, std::source_location where) {
  return stacked(matrices, true, "vstack", where);
}
Sparse hstack(const std::vector<SparseOperand>& matrices, std::source_location where) {
  return stacked(matrices, false, "hstack", where);
}

}  // namespace thtrain
