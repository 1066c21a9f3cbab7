// Functions of the loop language to text: the order of statements, their nesting and indentation, and the terms inside
// out. Every form of the text is the dialect's.
#pragma once

#include <string>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel {

/// A printed function, whose name is chosen last.
struct FunctionText {
  std::string comment;                  // whole lines: what it computes, what its lengths and numbers are
  std::string before_name, after_name;  // the definition

  std::string named(const std::string& name) const { return comment + before_name + name + after_name; }
};

FunctionText print_function(const Function& function, const Dialect& dialect, Helpers& helpers);

/// A function that the compiler inlines: `body` computes `result` from `parameter`.
FunctionText print_inline(const Block& body, const Term& result, const Term& parameter, const Dialect& dialect,
                          Helpers& helpers);

}  // namespace thtrain::kernel
