#include "compiler/codegen/library_calls.h"

#include <algorithm>
#include <span>

#include "compiler/codegen/code_lines.h"

namespace thtrain {

// Of a list of steps.
static constexpr size_t kMostListed = 12;

std::vector<CalledFunction> called_functions(const Program& program) {
  std::vector<CalledFunction> out;
  int number = 0;
  for_each_step(program.body, [&](const Step& step) {
    if (const auto* call = std::get_if<kernel::LibraryCall>(&step.code)) {
      const std::string& name = call->function.name;
      auto known = std::ranges::find_if(out, [&](const CalledFunction& c) { return c.function->name == name; });
      if (known == out.end()) known = out.insert(out.end(), {&call->function, {}});
      known->steps.push_back(number);
    }
    ++number;
  });
  return out;
}

std::string declaration_of(const CalledFunction& called, const std::string& name, const std::string& type,
                           size_t index) {
  const std::vector<int>& steps = called.steps;
  const std::string list = join(std::span(steps).first(std::min(steps.size(), kMostListed)), ", ");
  const kernel::LibraryFunction& function = *called.function;
  return lines_of(str("// ", name, ": a function of a library, called by step", steps.size() == 1 ? " " : "s ", list,
                      steps.size() > kMostListed ? ", ..." : ""),
                  2, 0, "// ") +
         lines_of(str("typedef ", function.may_fail ? "int" : "void", " (*", type, ")(ThContext*, ",
                      function.joins_graph    ? "const int* uses, int use_count, "
                      : function.is_of_device ? "int place, "
                                              : "",
                      function.parameters, ");"),
                  2, 4) +
         str("  const ", type, " ", name, " = (", type, ")ctx->library[", index, "];\n");
}

CheckText text_of_check(const kernel::RuntimeCheck& check) {
  return {check.what, check.expected, check.origin.text(), check.origin.config()};
}

CheckText failure_of(const kernel::LibraryCall& call, const Origin& origin) {
  if (call.failure) return text_of_check(*call.failure);
  return {str("the library function ", call.function.name, " failed"), "status 0, got {value}", origin.text(),
          origin.config()};
}

}  // namespace thtrain
