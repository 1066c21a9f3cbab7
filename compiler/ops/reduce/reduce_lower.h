// The nest of a reduction, and what reductions and arg-extrema share.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/nest.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {

/// The kernel of a step whose output 0 is input 0 without the node's axes (or with length 1 there).
void lower_reduction(const Reduction& record, kernel::StepBuilder& b);
/// The same for any reduction of values that are no complex numbers.
void lower_by_nest(kernel::StepBuilder& b, kernel::Accumulation how, const std::string& name,
                   const std::string& comment);
/// How a nest reduces elements of a dtype (of complex ones, each part); it does not check that there are some.
kernel::Accumulation accumulation_of(const Reduction& record, DType element);
/// Adds a node's reduction of a value with elements of a dtype to a nest; it checks that there are some where asked to.
Parts reduced(kernel::Nest& nest, const std::string& name, const Reduction& record, const Parts& x, DType element,
              std::optional<kernel::RuntimeCheck> no_elements);

// Rules that reductions and arg-extrema share:

/// The lengths that stay, and 1 for the others if `keepdims`.
Dims reduced_dims(const Dims& dims, const Ints& axes, bool keepdims);
/// UserError where input 0 is known to have no elements along `axes`, and results all the same.
void require_elements(const TypeArgs& args, const Ints& axes);
/// The same for a call: the check, in a kernel, and the error, in a reference.
kernel::RuntimeCheck no_elements_check(const Node& node);
[[noreturn]] void throw_no_elements(const Node& node);

}  // namespace thtrain
