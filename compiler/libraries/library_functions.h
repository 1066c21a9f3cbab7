// The functions outside of programs that programs call by name: BLAS, oneDNN, and those of the user's program.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace thtrain {

/// What a name refers to.
struct LibraryImplementation {
  /// A function of C: result name(ThContext*, parameters...), as the kernel::LibraryFunction of that name says. It must
  /// not throw. Its result depends on its arguments and on context->threads only.
  void* address = nullptr;
  std::string version;  // of the library, for what was measured: "OpenBLAS 0.3.21 SkylakeX"; on one line, without "]"
};

/// Finds a function's implementation; nullopt: its library is not installed.
using FindLibraryFunction = std::function<std::optional<LibraryImplementation>()>;
/// The functions of one library, by name.
using NamedFunctions = std::map<std::string, FindLibraryFunction>;

/// Adds a function of the user's program, until the process ends. `find` is asked when a program needs the function.
/// Any thread may call. UserError where the name is taken, or no identifier of C.
void add_library_function(const std::string& name, FindLibraryFunction find);

/// nullopt where no function has that name, or its library is not installed. UserError where the library is one that
/// thtrain needs (OpenBLAS).
std::optional<LibraryImplementation> find_library_function(const std::string& name);

/// ThContext::library for a program that lists these names. UserError where one is missing.
std::vector<void*> library_table(const std::vector<std::string>& names);

}  // namespace thtrain
