// How an entry declares the functions outside of the program, and what a message says where one fails.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/emit.h"

namespace thtrain {

/// A function outside of the program, and the numbers of the steps that call it.
struct CalledFunction {
  const kernel::LibraryFunction* function;
  std::vector<int> steps;
};
/// In the order of their first calls.
std::vector<CalledFunction> called_functions(const Program& program);

/// The lines that declare a function as the variable `name` of the type `type`: number `index` of ThContext::library.
/// A comment says which steps call it.
std::string declaration_of(const CalledFunction& called, const std::string& name, const std::string& type,
                           size_t index);

CheckText text_of_check(const kernel::RuntimeCheck& check);
/// The check that a call fails where its function gives {value} and not 0. `origin`: of the call's step.
CheckText failure_of(const kernel::LibraryCall& call, const Origin& origin);

}  // namespace thtrain
