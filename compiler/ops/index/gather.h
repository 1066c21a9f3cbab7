// What gather and scatter have in common: input 0 is x, and the last inputs are index tensors, one for each of the axes
// of x in the property `axes`, which follow each other.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/indexed_axes.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

/// Of a gather or a scatter.
IndexedAxes indexed_axes_of(const Node& node);
/// The same of a node with these properties and ranks of x and of the indices, without checks.
IndexedAxes axes_of_elements(const Props& props, size_t rank, size_t rank_of_indices);
/// The properties of pick_rows.
Props by_row_props(Negative negative);
/// Of each row of a matrix the element that an index vector names?
bool is_by_row(const Node& node);
/// The elements of x that `like`, a gather or a scatter of a value of the same lengths, names in its own.
Expr gather_like(const Node& like, const Expr& x);

/// For type rules: the lengths of the elements, with the checks of x and of the index tensors from input `first` on.
Dims indexed_dims(const TypeArgs& args, size_t first);
/// For references: the location in x of every element, in row-major order. First checks every index, also those that no
/// element is read through.
void for_each_named(const ReferenceArgs& args,
                    const std::function<void(const Shape& element, const Shape& in_x)>& visit);
/// "in1", "in1, in2": the index tensors of a step, from input `first` on.
std::string indices_text(const Node& node, size_t first);

}  // namespace thtrain
