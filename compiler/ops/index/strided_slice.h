// A rectangular part of a value, with a step along each axis: the property of subtensor and inc_subtensor.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {

/// Along axis a: counts[a] elements from starts[a] on, steps[a] apart. The other lists hold axes.
struct StridedSlice {
  Dims starts, counts;
  Ints steps;
  Ints dropped = {};  // the part does not have them (count 1)
  Ints given = {};    // the start is an input of the node, in this order: only the data knows it
  Ints inside = {};   // step 1, and not cut to fit: that all elements are there is checked
  /// Starts as the user wrote them, of every axis, where one may count from the end: for the check and its message.
  /// Empty: the starts are what was written.
  Dims written = {};

  static StridedSlice of(const Node& node);
  static StridedSlice of(const Props& props);
  void add_to(Props& props) const;
  bool has(const Ints& axes, size_t axis) const;
  std::vector<size_t> kept() const;  // the axes of the part
  Dims dims() const;                 // and their lengths
};

/// Batching rule of subtensor and inc_subtensor, where no start varies: the same part behind a first axis.
extern const IterationsRule kSliceOfIterations;

/// The position that a number names: one below 0 counts from the end. Where the sign is not known, the call finds it.
Dim from_end(const Dim& number, const Dim& length);

/// The lengths of the part of a value of type `x`, with its checks. Inputs from `first_given` on are the given starts.
Dims slice_dims(const TypeArgs& args, const Type& x, const StridedSlice& slice, size_t first_given);
/// Where the part lies; only where no start is given by an input.
Layout slice_layout(const StridedSlice& slice, const Layout& x);
/// The part of `x`, sharing its elements. UserError where it is not inside.
Tensor slice_view(const ReferenceArgs& args, const StridedSlice& slice, const Tensor& x, size_t first_given);

/// Integer scalars by the names that lengths have for their values (ir/lengths.h).
using NamedScalars = std::map<std::string, Expr>;
/// A slice, or a part that is written, whose starts that scalars name are inputs, behind the others. Empty where there
/// is no such start, and of another node.
Expr with_read_starts(const Node& node, std::vector<Expr> inputs, const NamedScalars& scalars);

/// A slice, or a part that is written, of one element of one axis, whose number an input gives, by gather or scatter.
/// Empty of another node.
Expr with_gathered_element(const Node& node, const std::vector<Expr>& inputs);

/// The part as an operand of a kernel (a complex one as parts_of): its shape and strides, and the index of its first
/// element in the buffer of `whole`. Checks given starts first; errors belong to `node`.
struct SliceWindow {
  kernel::Operand part;
  kernel::Term first;
};
SliceWindow slice_window(kernel::StepBuilder& b, const Node& node, const StridedSlice& slice,
                         const kernel::Operand& whole, size_t first_given);

}  // namespace thtrain
