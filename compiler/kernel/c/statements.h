// Statements and functions as C and C++ write them alike.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::c {

/// What differs, or may, is left to the languages: terms, stores, local arrays, prefetches, fences.
class Statements : public Dialect {
 public:
  std::string comment(const std::string& text) const override { return "// " + text; }
  std::string let(const Let& let, const TermText& value, Helpers& helpers) const override;
  std::string variable(const Var& variable, const TermText& value, Helpers& helpers) const override;
  std::string assign(const std::string& name, const TermText& value) const override;
  /// One thread runs each part of a range: without its mark.
  Enclosing loop(const ForLoop& loop, const TermText& begin, const TermText& end, const TermText& step) const override;
  Enclosing while_loop(const TermText& condition) const override;
  Enclosing branch(const TermText& condition) const override;
  std::string otherwise() const override { return "} else {"; }
  std::vector<std::string> fail(const TermText& check, const TermText& value, const TermText& limit,
                                Helpers& helpers) const override;

  FunctionHead function(const Function& function, Helpers& helpers) const override;
  FunctionHead inline_function(const TermType& result, const Term& parameter, Helpers& helpers) const override;
  std::string result(const TermText& value) const override { return "return " + value.alone() + ";"; }

 protected:
  /// The function that copies bytes, as the language calls it.
  virtual std::string memcpy_name() const = 0;
};

}  // namespace thtrain::kernel::c
