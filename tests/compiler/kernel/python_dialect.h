// A second dialect, so small that it fits a page: kernels of single numbers as Python. What it prints shows that the
// printer itself knows no language.
#pragma once

#include <map>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/kernel/dialect.h"

namespace thtrain::kernel {

class PythonDialect : public Dialect {
 public:
  // ---- terms

  std::string type(const TermType& type, Helpers&) const override {
    return is_float(type.dtype) ? "float" : type.dtype == DType::kBool ? "bool" : "int";
  }

  std::string constant(const TermNode& node) const override {
    if (node.type.dtype == DType::kBool) return node.integer ? "True" : "False";
    if (!is_float(node.type.dtype)) return str(node.integer);
    const std::string text = str(node.number);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }

  std::string term(const TermNode& node, const std::vector<std::string>& args, Helpers& helpers) const override {
    static const std::map<Prim, const char*> kOperators{
        {Prim::kAdd, "+"},     {Prim::kSub, "-"},        {Prim::kMul, "*"},  {Prim::kLess, "<"},
        {Prim::kGreater, ">"}, {Prim::kLessEqual, "<="}, {Prim::kAnd, "and"}};
    TH_CHECK(!node.type.is_vector(), "no vectors");
    if (auto at = kOperators.find(node.prim); at != kOperators.end())
      return str("(", args[0], " ", at->second, " ", args[1], ")");
    if (node.prim == Prim::kLoad) return str(node.name, "[", TermText(args[0]).alone(), "]");
    if (node.prim == Prim::kSelect) return str("(", args[1], " if ", args[0], " else ", args[2], ")");
    TH_CHECK(node.prim == Prim::kSqrt, "no such term");
    if (helpers.need("math")) helpers.add("import math\n");
    return str("math.sqrt(", TermText(args[0]).alone(), ")");
  }

  // ---- statements

  std::string comment(const std::string& text) const override { return "# " + text; }
  std::string let(const Let& s, const TermText& value, Helpers&) const override { return assign(s.name, value); }
  std::string variable(const Var& s, const TermText& value, Helpers&) const override { return assign(s.name, value); }
  std::string assign(const std::string& name, const TermText& value) const override {
    return str(name, " = ", value.alone());
  }
  std::string store(const Store& s, const StoreText& text, Helpers&) const override {
    return str(s.buffer, "[", text.index.alone(), "] = ", text.value.alone());
  }
  Enclosing loop(const ForLoop& s, const TermText& begin, const TermText& end, const TermText& step) const override {
    const std::string by = is_constant(s.step, 1) ? "" : ", " + step.alone();
    const char* mark = s.mark == LoopMark::kParallel ? "  # in any order" : "";
    return {.open = {str("for ", s.name, " in range(", begin.alone(), ", ", end.alone(), by, "):", mark)}};
  }
  Enclosing while_loop(const TermText& condition) const override {
    return {.open = {str("while ", condition.alone(), ":")}};
  }
  Enclosing branch(const TermText& condition) const override { return {.open = {str("if ", condition.alone(), ":")}}; }
  std::string otherwise() const override { return "else:"; }
  std::string local_array(const LocalArray& s, Helpers&) const override { return str(s.name, " = [0] * ", s.count); }
  std::string prefetch(const PrefetchLine& s, const TermText& index) const override {
    return str("# ", s.buffer, "[", index.alone(), "] follows");
  }
  std::string fence() const override { return "# what was written may be read"; }
  std::vector<std::string> fail(const TermText& check, const TermText& value, const TermText& limit,
                                Helpers&) const override {
    return {str("raise IndexError(", check.alone(), ", ", value.alone(), ", ", limit.alone(), ")")};
  }

  // ---- functions

  FunctionHead function(const Function& f, Helpers&) const override {
    std::string parameters;
    for (const BufferParameter& b : f.buffers) parameters += b.name + ", ";
    for (const std::string& length : f.lengths) parameters += length + ", ";
    for (const NumberParameter& n : f.numbers) parameters += n.name + ", ";
    return {.before_name = "def ", .after_name = str("(", parameters, "begin, end):")};
  }
  FunctionHead inline_function(const TermType&, const Term& parameter, Helpers&) const override {
    return {.before_name = "def ", .after_name = str("(", parameter.node().name, "):")};
  }
  std::string result(const TermText& value) const override { return "return " + value.alone(); }
};

}  // namespace thtrain::kernel
