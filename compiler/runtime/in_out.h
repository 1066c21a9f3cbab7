// Inputs and outputs of a function, with what they may be told.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/runtime/shared.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// What an input may be told: In(x, {.value = 0.0, .update = x + 1}).
struct InOptions {
  /// Its value where a call gives none.
  std::optional<Tensor> value = {};
  /// Each call replaces the value by this one, computed from what the call took, when it has ended without an error. It
  /// has the input's dtype, rank and known lengths; others may change. UserError without a value to start with.
  Expr update = {};
  /// The argument is not needed after the call: native code may write temporaries over it, which saves their memory. An
  /// argument that is given twice, a variable's buffer and a value without update are copied first.
  bool is_mutable = false;
  /// Arguments must have the input's dtype: integers are not converted either.
  bool strict = false;
  /// Arguments of any real dtype are converted as cast() does, and lose digits.
  bool allow_downcast = false;
};

/// An input, and its value where a call gives none. No call writes into an argument, but for InOptions::is_mutable.
struct In {
  In(Expr variable, std::optional<Tensor> value = {}, std::source_location where = std::source_location::current())
      : In(std::move(variable), InOptions{.value = std::move(value)}, where) {}
  In(Expr variable, InOptions options, std::source_location where = std::source_location::current())
      : variable(require_value(variable, "function: an input", where)), options(std::move(options)) {}
  In(const Shared&) = delete;  // a shared variable is no input: functions find it; FunctionOptions::givens replaces it
  Expr variable;
  InOptions options;
};

/// What an output may be told: Out(y, {.borrow = true, .internal = true}).
struct OutOptions {
  /// Calls return the function's own buffer, which the next call overwrites: no allocation, in every mode.
  bool borrow = false;
  /// Theano's return_internal_type: a function for a device returns a tensor of the device's memory, which it does not
  /// copy to the host. Where all outputs are such, and no step runs on the host, a call does not wait for the device:
  /// what has failed of it is told by who reads the value, or works there. Functions of that device and
  /// Shared::set_value() take the tensor as it is, Tensor::on_host() copies it. On the host it changes nothing.
  bool internal = false;
};

/// An output. Its name is what Function::named and Function::only know it by; without one it is the expression's.
struct Out {
  Out(Expr expr, bool borrow = false, std::source_location where = std::source_location::current())
      : Out(std::string(), std::move(expr), OutOptions{.borrow = borrow}, where) {}
  Out(const Shared& variable, bool borrow = false, std::source_location where = std::source_location::current())
      : Out(variable.expr(), borrow, where) {}
  Out(std::string name, Expr expr, bool borrow = false, std::source_location where = std::source_location::current())
      : Out(std::move(name), std::move(expr), OutOptions{.borrow = borrow}, where) {}
  Out(Expr expr, OutOptions options, std::source_location where = std::source_location::current())
      : Out(std::string(), std::move(expr), options, where) {}
  Out(const Shared& variable, OutOptions options, std::source_location where = std::source_location::current())
      : Out(std::string(), variable.expr(), options, where) {}
  Out(std::string name, Expr expr, OutOptions options, std::source_location where = std::source_location::current())
      : name(std::move(name)), expr(require_value(expr, "function: an output", where)), options(options) {}
  std::string name;
  Expr expr;
  OutOptions options;
};

/// The arguments of a call: in the order of the inputs, {data, 0.1}, where the last ones that have values of their own
/// may be left out; or by the inputs' names, {{"x", data}, {"rate", 0.1}}, where any of these may be.
struct Arguments {
  Arguments() = default;
  Arguments(std::initializer_list<Tensor> in_order) : values(std::vector<Tensor>(in_order)) {}
  Arguments(std::vector<Tensor> in_order) : values(std::move(in_order)) {}
  Arguments(std::initializer_list<std::pair<const std::string, Tensor>> by_name)
      : values(std::map<std::string, Tensor>(by_name)) {}
  Arguments(std::map<std::string, Tensor> by_name) : values(std::move(by_name)) {}
  std::variant<std::vector<Tensor>, std::map<std::string, Tensor>> values;
};

/// An output of a function, by its number or its name.
struct OutputKey {
  OutputKey(int number) : key(number) {}
  OutputKey(const char* name) : key(std::string(name)) {}
  OutputKey(std::string name) : key(std::move(name)) {}
  std::variant<int, std::string> key;
};

}  // namespace thtrain
