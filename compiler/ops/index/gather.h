// What gather and scatter have in common: input 0 is x, and the last inputs are index tensors, one for each of the axes
// of x in the property `axes`, which follow each other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

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

/// What the batching rules of both do where an index varies: the number of the iteration is one more index, in front of
/// the others. The iterations and the named axes come first in x, in what is read or written those of the indices.
struct IterationsOfIndices {
  /// `indices`: of all iterations where they vary. The node has them from input `first` on.
  IterationsOfIndices(const Node& node, const Dim& iterations, std::span<const Expr> indices,
                      const std::vector<bool>& varies, size_t first);

  std::vector<Expr> inputs;     // all indices
  Ints axes;                    // the property of the node that has them
  Ints x_order, element_order;  // from [iterations, ...] in the node's order
};
/// The permutation that undoes `order`.
Ints inverse_of(const Ints& order);
/// The same axes behind a new first one.
Ints later(Ints axes);

/// For type rules: the lengths of the elements, with the checks of x and of the index tensors from input `first` on.
Dims indexed_dims(const TypeArgs& args, size_t first);
/// For references: the location in x of every element, in row-major order. First checks every index, also those that no
/// element is read through.
void for_each_named(const ReferenceArgs& args,
                    const std::function<void(const Shape& element, const Shape& in_x)>& visit);
/// "in1", "in1, in2": the index tensors of a step, from input `first` on.
std::string indices_text(const Node& node, size_t first);

}  // namespace thtrain
