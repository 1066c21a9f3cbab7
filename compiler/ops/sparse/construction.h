// What the builders of sparse matrices share. A matrix in compressed columns is its transpose in compressed rows: the
// major axis is the one whose slices lie side by side.
#pragma once

#include <functional>
#include <source_location>

#include "compiler/base/origin.h"
#include "compiler/ops/sparse/sparse.h"

namespace thtrain {

/// While it lives, nodes are built in that line of the caller.
struct CallersLine {
  explicit CallersLine(const std::source_location& where) : origin(Origin::here(where)), inherit(origin) {}
  Origin origin;
  InheritOrigin inherit;
};

const Dim& major_of(const Sparse& a);
const Dim& minor_of(const Sparse& a);
/// The number along the major axis of each stored element.
Expr majors_of(const Sparse& a);
/// The place of each stored element in the order of the format, int64: ascending.
Expr places_of(const Sparse& a);
Expr length_as_value(const Dim& dim);

Sparse in_format(const Sparse& a, SparseFormat format);
/// The same pattern with other elements. Structured, as what all these make.
Sparse with_data(const Sparse& a, Expr data);
/// The elements with these numbers, ascending, which have `data`.
Sparse with_elements(const Sparse& a, const Expr& kept, Expr data);

/// The numbers first[k], first[k] + 1, ..., as many as counts[k], for one k after the other; the k of each; and where
/// those of k begin, with the end of the last ones. All int64.
struct Ranges {
  Expr numbers, of, begins;
};
Ranges ranges(const Expr& first, const Expr& counts);

/// What is made of a has regular derivatives where a has: those of f(the dense matrix of all elements).
using OfWhole = std::function<Expr(const Expr& whole)>;
Sparse of_kind(const Sparse& a, Sparse made, const OfWhole& f);
Expr of_kind(const Sparse& a, const Expr& made, const OfWhole& f);
/// The same of two matrices, one of which is enough.
Sparse of_kind(const Sparse& a, const Sparse& b, Sparse made,
               const std::function<Expr(const Expr& whole_a, const Expr& whole_b)>& f);

/// a; that the lengths agree, each with that at its place, is proved or checked when a call begins.
Sparse with_equal_lengths(Sparse a, const Dims& left, const Dims& right, const std::string& what);
/// b, which must have the shape of a: UserError, or one of the call.
Sparse of_shape(const Sparse& b, const Sparse& a, const char* what, const std::source_location& where);

/// The elements that one of two matrices of one shape and format stores, or both: their pattern, and what each has
/// there.
struct Aligned {
  Sparse pattern;  // its data are those of the first matrix
  Expr left, right;
};
Aligned aligned(const Sparse& a, const Sparse& b);

}  // namespace thtrain
