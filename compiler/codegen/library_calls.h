// How an entry declares the functions outside of the program, and what a message says where one fails.
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/emit.h"

namespace thtrain {

/// The lines that declare `function` as the variable `name` of the type `type`: number `place` of ThContext::library. A
/// comment says which `steps` call it.
std::string declaration_of(const kernel::LibraryFunction& function, const std::string& name, const std::string& type,
                           size_t place, std::span<const int> steps);

/// The check that a call fails where its function gives {value} and not 0. `origin`: of the call's step.
CheckText failure_of(const kernel::LibraryCall& call, const Origin& origin);

}  // namespace thtrain
