#include "compiler/kernel/c/statements.h"

#include "compiler/kernel/c/terms.h"

namespace thtrain::kernel::c {

std::string Statements::let(const Let& s, const TermText& value, Helpers& h) const {
  return str("const ", type(s.value.type(), h), " ", s.name, " = ", value.alone(), ";");
}

std::string Statements::variable(const Var& s, const TermText& value, Helpers& h) const {
  return str(type(s.start.type(), h), " ", s.name, " = ", value.alone(), ";");
}

std::string Statements::assign(const std::string& name, const TermText& value) const {
  return str(name, " = ", value.alone(), ";");
}

Enclosing Statements::loop(const ForLoop& s, const TermText& begin, const TermText& end, const TermText& step) const {
  const std::string next = is_constant(s.step, 1) ? str("++", s.name) : str(s.name, " += ", step.operand());
  return {
      .open = {str("for (long ", s.name, " = ", begin.alone(), "; ", s.name, " < ", end.operand(), "; ", next, ") {")},
      .close = str("}  // ", s.name)};
}

Enclosing Statements::while_loop(const TermText& condition) const {
  return {.open = {str("while (", condition.alone(), ") {")}, .close = "}"};
}

Enclosing Statements::branch(const TermText& condition) const {
  return {.open = {str("if (", condition.alone(), ") {")}, .close = "}"};
}

std::vector<std::string> Statements::fail(const TermText& check, const TermText& value, const TermText& limit,
                                          Helpers&) const {
  return {str("ctx->fail(ctx, (int)", check.operand(), ", ", value.alone(), ", ", limit.alone(), ");"), "return;"};
}

FunctionHead Statements::function(const Function& f, Helpers& h) const {
  FunctionHead head{.before_name = "static void ",
                    .after_name = "(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end) {",
                    .close = "}"};
  for (size_t i = 0; i < f.buffers.size(); ++i) {
    const BufferParameter& b = f.buffers[i];
    const std::string pointer = str(b.written ? "" : "const ", name_of_element(b.dtype).c, "*");
    head.first.push_back(str(pointer, " ", b.name, " = (", pointer, ")buffers[", i, "];"));
  }
  for (size_t i = 0; i < f.lengths.size(); ++i)
    head.first.push_back(str("const long ", f.lengths[i], " = lengths[", i, "];"));
  // A number is the bits, as a double's, of what follows the lengths.
  if (!f.numbers.empty() && h.need("th_number"))
    h.add(str("static inline double th_number(long bits) { double x; ", memcpy_name(),
              "(&x, &bits, sizeof x); return x; }\n"));
  for (size_t i = 0; i < f.numbers.size(); ++i) {
    const NumberParameter& n = f.numbers[i];
    head.first.push_back(str("const ", name_of_element(n.dtype).c, " ", n.name, " = ",
                             n.dtype == DType::kFloat32 ? "(float)" : "", "th_number(lengths[", f.lengths.size() + i,
                             "]);"));
  }
  return head;
}

FunctionHead Statements::inline_function(const TermType& result, const Term& parameter, Helpers& h) const {
  // "inline" alone: where a kernel has many calls, compilers stop inlining, or they would take seconds.
  return {.before_name = str("static inline ", type(result, h), " "),
          .after_name = str("(", type(parameter.type(), h), " ", parameter.node().name, ") {"),
          .close = "}"};
}

}  // namespace thtrain::kernel::c
