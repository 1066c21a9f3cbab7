// The graph of a function: what the user gave, checked, givens applied, effects in order.
#pragma once

#include "compiler/runtime/function.h"

namespace thtrain {

/// The graph that function() compiles; outputs that define lengths come after the user's (runtime/data_lengths.h).
/// UserError for what function() refuses.
Graph function_graph(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Update>& updates,
                     const FunctionOptions& options, const std::source_location& where);

/// The values that inputs have where a call gives none, in the inputs' dtypes as a call converts its arguments.
/// UserError for one of another dtype, rank or known length.
std::vector<std::optional<Tensor>> values_of_inputs(const std::vector<In>& inputs, const std::source_location& where);

}  // namespace thtrain
