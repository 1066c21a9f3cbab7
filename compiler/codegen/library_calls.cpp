#include "compiler/codegen/library_calls.h"

#include <algorithm>

#include "compiler/codegen/code_lines.h"

namespace thtrain {

// Of a list of steps.
static constexpr size_t kMostListed = 12;

std::string declaration_of(const kernel::LibraryFunction& function, const std::string& name, const std::string& type,
                           size_t place, std::span<const int> steps) {
  const std::string list = join(steps.first(std::min(steps.size(), kMostListed)), ", ");
  return lines_of(str("// ", name, ": a function of a library, called by step", steps.size() == 1 ? " " : "s ", list,
                      steps.size() > kMostListed ? ", ..." : ""),
                  2, 0, "// ") +
         lines_of(str("typedef ", function.may_fail ? "int" : "void", " (*", type, ")(ThContext*, ",
                      function.parameters, ");"),
                  2, 4) +
         str("  const ", type, " ", name, " = (", type, ")ctx->library[", place, "];\n");
}

CheckText failure_of(const kernel::LibraryCall& call, const Origin& origin) {
  if (call.failure)
    return {call.failure->what, call.failure->expected, call.failure->origin.text(), call.failure->origin.config()};
  return {str("the library function ", call.function.name, " failed"), "status 0, got {value}", origin.text(),
          origin.config()};
}

}  // namespace thtrain
