// Functions as files: what function() was given, as bytes.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ops/control/op_from_function.h"
#include "compiler/runtime/function.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// What load_function() may be told.
struct LoadOptions {
  /// The ops that C++ functions compute: those of the saved function, by the same names and of the same versions.
  std::vector<OpFromFunction> ops = {};
};

/// The function that Function::save() wrote: with its options, but for FunctionOptions::on_note, its inputs, their
/// values, its outputs' names, its updates, and variables of its own with the saved values
/// (Function::shared_variables()). Its program is found in the cache where it is there; else it is compiled as
/// function() does. UserError where the file cannot be read, is none of a function, is of another version, is cut or
/// changed, or holds what function() refuses, and where an op of LoadOptions::ops is missing.
Function load_function(const std::string& path, const LoadOptions& options = {},
                       std::source_location where = std::source_location::current());

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// The file's bytes. UserError for a function with passes of its own or for another target, and where two of its ops
/// of one name are not the same.
std::string function_bytes(const Function::State& state);
/// What function() is given to make it again.
struct LoadedFunction {
  std::vector<In> inputs = {};
  std::vector<Out> outputs = {};
  std::vector<Update> updates = {};
  FunctionOptions options = {};
};
/// UserError, of the file `path`, as load_function().
LoadedFunction function_of_bytes(const std::string& bytes, const std::string& path, const LoadOptions& options);

}  // namespace thtrain
