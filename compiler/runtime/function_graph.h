// The graph of a function: what the user gave, checked, givens applied, effects in order.
#pragma once

#include "compiler/runtime/function.h"

namespace thtrain {

/// The graph that function() compiles; after the user's outputs come the next values of inputs with an update, then
/// those of the variables `resized`, whose update may have other lengths than their value, then outputs that define
/// lengths (runtime/data_lengths.h). UserError for what function() refuses.
Graph function_graph(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Update>& updates,
                     const FunctionOptions& options, std::vector<Expr>& resized, const std::source_location& where);

/// What the inputs are told, with their values in the inputs' dtypes as a call converts its arguments. UserError for a
/// value of another dtype, rank or known length, and for an update without a value.
std::vector<InOptions> options_of_inputs(const std::vector<In>& inputs, const std::source_location& where);

/// The names of the outputs. UserError where two are given the same.
std::vector<std::string> names_of_outputs(const std::vector<Out>& outputs, const std::source_location& where);

}  // namespace thtrain
