#include "compiler/kernel/printer.h"

#include <algorithm>

namespace thtrain::kernel {
namespace {

class Printer {
 public:
  Printer(const Dialect& dialect, Helpers& helpers) : dialect_(dialect), helpers_(helpers) {}

  std::string function(const Function& f, const std::string& name) {
    line(str("// ", f.comment));
    for (size_t i = 0; i < f.lengths.size(); ++i) line(str("//   ", f.lengths[i], " = ", f.length_texts[i]));
    for (const NumberParameter& n : f.numbers) line(str("//   ", n.name, " = ", n.text));
    line(dialect_.signature(name) + " {");
    ++depth_;
    for (size_t i = 0; i < f.buffers.size(); ++i) {
      const BufferParameter& b = f.buffers[i];
      std::string type = dialect_.type({b.dtype, 1, 0}, helpers_);
      line(str(b.written ? "" : "const ", type, "* ", b.name, " = (", b.written ? "" : "const ", type, "*)buffers[", i,
               "];"));
    }
    for (size_t i = 0; i < f.lengths.size(); ++i) line(str("const long ", f.lengths[i], " = lengths[", i, "];"));
    for (size_t i = 0; i < f.numbers.size(); ++i)
      line(str("const ", dialect_.type({f.numbers[i].dtype, 1, 0}, helpers_), " ", f.numbers[i].name, " = ",
               dialect_.number(str("lengths[", f.lengths.size() + i, "]"), f.numbers[i].dtype, helpers_), ";"));
    block(f.body);
    --depth_;
    line("}");
    return std::move(out_);
  }

  std::string inlined(const Block& body, const Term& result, const Term& parameter, const std::string& name) {
    // Where a kernel has many calls, compilers stop inlining, or they would take seconds.
    line(str("static inline ", dialect_.type(result.type(), helpers_), " ", name, "(",
             dialect_.type(parameter.type(), helpers_), " ", parameter.node().name, ") {"));
    nested(body);
    line(str("  return ", bare(term(result)), ";"));
    line("}");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  std::string term(const Term& t) {
    const TermNode& node = t.node();
    if (node.prim == Prim::kConstant) return dialect_.constant(node);
    if (node.prim == Prim::kVariable) return node.name;
    std::vector<std::string> args;
    for (const Term& arg : node.args) args.push_back(term(arg));
    return dialect_.term(node, args, helpers_);
  }

  void nested(const Block& body) {
    ++depth_;
    block(body);
    --depth_;
  }

  void block(const Block& body) {
    for (const Statement& s : body) statement(s);
  }

  void statement(const Statement& s) {
    using Kind = Statement::Kind;
    switch (s.kind) {
      case Kind::kComment:
        line("// " + s.name);
        break;
      case Kind::kLet:
        line(str("const ", dialect_.type(s.type, helpers_), " ", s.name, " = ", bare(term(s.value)), ";"));
        break;
      case Kind::kVar:
        line(str(dialect_.type(s.type, helpers_), " ", s.name, " = ", bare(term(s.value)), ";"));
        break;
      case Kind::kAssign:
        line(str(s.name, " = ", bare(term(s.value)), ";"));
        break;
      case Kind::kStore:
        line(dialect_.store(s, bare(term(s.index)), bare(term(s.value)), term(s.stride),
                            s.count ? bare(term(s.count)) : std::string(), helpers_) +
             ";");
        break;
      case Kind::kLoop: {
        std::string step = is_constant(s.step, 1) ? str("++", s.name) : str(s.name, " += ", term(s.step));
        if (s.mark == LoopMark::kUnrolled) line("#pragma GCC unroll 16");
        line(
            str("for (long ", s.name, " = ", bare(term(s.begin)), "; ", s.name, " < ", term(s.end), "; ", step, ") {"));
        nested(*s.body);
        line(str("}  // ", s.name));
        break;
      }
      case Kind::kIf:
        line(str("if (", bare(term(s.value)), ") {"));
        nested(*s.body);
        if (s.otherwise) {
          line("} else {");
          nested(*s.otherwise);
        }
        line("}");
        break;
      case Kind::kWhile:
        line(str("while (", bare(term(s.value)), ") {"));
        nested(*s.body);
        line("}");
        break;
      case Kind::kLocalArray:
        line(str("alignas(64) ", dialect_.type(s.type, helpers_), " ", s.name, "[", term(s.count), "];"));
        break;
      case Kind::kPrefetch:
        line(dialect_.prefetch(str(s.name, " + ", term(s.index)), s.prefetch) + ";");
        break;
      case Kind::kFence:
        line(dialect_.fence() + ";");
        break;
      case Kind::kFail:
        line(str("ctx->fail(ctx, (int)", term(s.index), ", ", bare(term(s.count)), ", ", bare(term(s.value)), ");"));
        line("return;");
        break;
      case Kind::kReturn:
        line("return;");
        break;
    }
  }

  // Without the outer parentheses, where the whole text is inside them.
  static std::string bare(std::string text) {
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return text;
    }
    return text.substr(1, text.size() - 2);
  }

  const Dialect& dialect_;
  Helpers& helpers_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string Helpers::text() const {
  std::string out;
  for (const std::string& definition : definitions_) out += definition;
  return out;
}

std::string print_function(const Function& function, const std::string& name, const Dialect& dialect,
                           Helpers& helpers) {
  return Printer(dialect, helpers).function(function, name);
}

std::string print_inline(const Block& body, const Term& result, const Term& parameter, const std::string& name,
                         const Dialect& dialect, Helpers& helpers) {
  return Printer(dialect, helpers).inlined(body, result, parameter, name);
}

}  // namespace thtrain::kernel
