// How reductions read a strided value: its axes sorted into those that stay and those that go, and the loops over them.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {

/// One axis of a reduction's loops, with the strides (in elements) of input 0 and output 0, which is 0 if reduced.
struct ReduceAxis {
  Dim length, in, out;
};

struct ReduceAxes {
  std::vector<ReduceAxis> kept, reduced;  // neighbours merged where the strides allow; no known lengths of 1
};

/// The axes of a step whose output 0 is input 0 without the axes `reduced` (or with length 1 there, if `keepdims`).
ReduceAxes reduce_axes(const kernel::StepBuilder& b, const Ints& reduced, bool keepdims);

/// At least 64k elements for each thread, where a step of the range handles `elements`.
Dim reduce_grain(const Dim& elements);

/// One kernel, whose bits do not depend on the number of threads. Along a reduced axis of stride 1: four vectors of
/// accumulators; along a kept one, or across many short rows: vectors of results; else four scalars.
void lower_reduction(const Reduction& record, kernel::StepBuilder& b);

// Rules that reductions and arg-extrema share:

/// The lengths that stay, and 1 for the others if `keepdims`.
Dims reduced_dims(const Dims& dims, const Ints& axes, bool keepdims);
/// UserError where input 0 is known to have no elements along `axes`, and results all the same.
void require_elements(const TypeArgs& args, const Ints& axes);
/// The same for a call: the check, in a kernel, and the error, in a reference.
kernel::RuntimeCheck no_elements_check(const Node& node);
void check_elements(kernel::StepBuilder& b, const ReduceAxes& axes);
[[noreturn]] void throw_no_elements(const Node& node);

}  // namespace thtrain
