// Functions of the loop language to text, through a dialect: what differs between C++ and CUDA.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/kernel/kernel_ir.h"

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

/// The differences between target languages. A method asks `helpers` for the definitions that its text calls.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string type(const TermType& type, Helpers& helpers) const = 0;
  virtual std::string constant(const TermNode& node) const = 0;
  /// A term whose arguments are printed already; nullopt: the printer's own form (infix operators) is right.
  virtual std::string term(const TermNode& node, const std::vector<std::string>& args, Helpers& helpers) const = 0;
  virtual std::string store(const Statement& store, const std::string& index, const std::string& value,
                            const std::string& stride, const std::string& count, Helpers& helpers) const = 0;
  virtual std::string prefetch(const std::string& address, Prefetch kind) const = 0;
  /// Orders non-temporal stores: other threads that read after it see what was stored before it.
  virtual std::string fence() const = 0;
  /// The number of that dtype whose bits, as a double's, `length` has.
  virtual std::string number(const std::string& length, DType dtype, Helpers& helpers) const = 0;
  /// "static void name(...)" up to the brace.
  virtual std::string signature(const std::string& name) const = 0;
};

/// The text of one function under the name `name`.
std::string print_function(const Function& function, const std::string& name, const Dialect& dialect, Helpers& helpers);

/// The text of "result name(parameter)", for the compiler to inline: `body` computes `result` from `parameter`.
std::string print_inline(const Block& body, const Term& result, const Term& parameter, const std::string& name,
                         const Dialect& dialect, Helpers& helpers);

/// C++ with explicit vectors of `vector_bytes`, for g++ and clang++ alike. x86 vectors compute some functions
/// themselves (vector_maths.h) and call libmvec's entry points for the others; other processors call libm lane by lane.
const Dialect& cpp_dialect(int vector_bytes);

}  // namespace thtrain::kernel
