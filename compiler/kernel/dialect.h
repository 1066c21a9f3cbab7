// How a language writes what the loop language says. The printer (printer.h) walks the functions; each form of their
// text is a dialect's.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/kernel/statement.h"
#include "compiler/kernel/target.h"

namespace thtrain::kernel {

/// Definitions that the printed functions need (types, loads, maths), each once, in the order of first use.
class Helpers {
 public:
  /// True the first time: the caller then adds the text.
  bool need(const std::string& name) { return known_.insert(name).second; }
  void add(std::string definition) { definitions_.push_back(std::move(definition)); }
  const std::vector<std::string>& definitions() const { return definitions_; }
  std::string text() const;

 private:
  std::unordered_set<std::string> known_;
  std::vector<std::string> definitions_;
};

/// A printed term: an operation is in parentheses, which it does not need where it stands alone.
class TermText {
 public:
  TermText() = default;
  explicit TermText(std::string text) : text_(std::move(text)) {}

  /// As an operand of another term.
  const std::string& operand() const { return text_; }
  /// By itself: without the parentheses around the whole text.
  std::string alone() const;

 private:
  std::string text_;
};

/// What surrounds a nested block. The printer indents: lines of `open` and `close` are as deep as the statement,
/// those of `first` as deep as the block.
struct Enclosing {
  std::vector<std::string> open;
  std::vector<std::string> first = {};
  std::string close = {};  // empty: no line
};

/// A function's head, in two parts: its name, which may be chosen later, is between them.
struct FunctionHead {
  std::string before_name, after_name;
  std::vector<std::string> first = {};  // as deep as the body
  std::string close = {};
};

/// The terms of a store: `count` is empty where all lanes are written.
struct StoreText {
  TermText index, value, stride, count;
};

/// The forms of a language. Texts are whole lines without their indentation and ends. A method asks `helpers` for the
/// definitions that its text calls. What a language cannot say is an internal error.
class Dialect {
 public:
  virtual ~Dialect() = default;

  // ---- terms
  virtual std::string type(const TermType& type, Helpers& helpers) const = 0;
  virtual std::string constant(const TermNode& node) const = 0;
  /// A term that is neither constant nor variable; its arguments are printed as operands.
  virtual std::string term(const TermNode& node, const std::vector<std::string>& args, Helpers& helpers) const = 0;

  // ---- statements
  virtual std::string comment(const std::string& text) const = 0;
  virtual std::string let(const Let& let, const TermText& value, Helpers& helpers) const = 0;
  /// A variable that statements may assign.
  virtual std::string variable(const Var& variable, const TermText& value, Helpers& helpers) const = 0;
  virtual std::string assign(const std::string& name, const TermText& value) const = 0;
  /// name = a * b + name, of a tile's sum. Empty: as any other assignment.
  virtual std::string add_product(const std::string& /*name*/, const TermNode& /*fma*/,
                                  const std::vector<std::string>& /*args*/, Helpers& /*helpers*/) const {
    return {};
  }
  virtual std::string store(const Store& store, const StoreText& text, Helpers& helpers) const = 0;
  /// The mark says what the iterations may do at once; a language in which they do not may run them in order.
  virtual Enclosing loop(const ForLoop& loop, const TermText& begin, const TermText& end,
                         const TermText& step) const = 0;
  virtual Enclosing while_loop(const TermText& condition) const = 0;
  virtual Enclosing branch(const TermText& condition) const = 0;
  /// The line between a branch and what is done otherwise.
  virtual std::string otherwise() const = 0;
  virtual std::string local_array(const LocalArray& array, Helpers& helpers) const = 0;
  virtual std::string prefetch(const PrefetchLine& prefetch, const TermText& index) const = 0;
  /// Orders non-temporal stores: other threads that read after it see what was stored before it.
  virtual std::string fence() const = 0;
  /// The call fails by this check, and the function returns.
  virtual std::vector<std::string> fail(const TermText& check, const TermText& value, const TermText& limit,
                                        Helpers& helpers) const = 0;

  // ---- of devices: a language of processors has none of these
  virtual std::string barrier(const Barrier& barrier) const;
  virtual std::string shared_array(const SharedArray& array, Helpers& helpers) const;
  virtual std::string shuffle(const Shuffle& shuffle, const TermText& value, Helpers& helpers) const;
  virtual std::string atomic(const Atomic& atomic, const TermText& index, const TermText& value) const;

  // ---- functions
  /// Its parameters, and what makes its buffers, lengths and numbers of them.
  virtual FunctionHead function(const Function& function, Helpers& helpers) const = 0;
  /// A function of one term, for the compiler to inline.
  virtual FunctionHead inline_function(const TermType& result, const Term& parameter, Helpers& helpers) const = 0;
  virtual std::string result(const TermText& value) const = 0;
};

/// The language in which kernels for that target are written.
const Dialect& dialect_of(const Target& target);

}  // namespace thtrain::kernel
