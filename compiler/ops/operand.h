// What public builders take: an expression, or a C++ number that takes the dtype of the other operands.
#pragma once

#include <concepts>
#include <source_location>
#include <variant>

#include "compiler/ir/node.h"

namespace thtrain {

// ---- inputs and constants -------------------------------------------------------------------------------------------

/// Converts from expressions, shared variables and numbers, and notes the user's source line. A number is weakly typed:
/// an integer takes the dtype of any number; a floating one with an integer or bool gives floatX. UserError where
/// the expression is empty.
class Operand {
 public:
  Operand(const Expr& value, std::source_location where = std::source_location::current())
      : value_(require_value(value, "an operand", where)), where_(where) {}
  template <std::integral T>
  Operand(T value, std::source_location where = std::source_location::current())
      : value_(Literal{.is_float = false,
                       .is_bool = std::same_as<T, bool>,
                       .integer = static_cast<int64_t>(value),
                       .number = static_cast<double>(value)}),
        where_(where) {}
  template <std::floating_point T>
  Operand(T value, std::source_location where = std::source_location::current())
      : value_(Literal{.is_float = true, .is_bool = false, .integer = 0, .number = static_cast<double>(value)}),
        where_(where) {}
  template <class T>
  requires requires(const T& t) {
    { t.expr() } -> std::convertible_to<const Expr&>;
  }
  Operand(const T& variable, std::source_location where = std::source_location::current())
      : Operand(static_cast<const Expr&>(variable.expr()), where) {}

  bool is_literal() const { return std::holds_alternative<Literal>(value_); }
  const std::source_location& where() const { return where_; }
  /// The expression; a literal becomes a constant: bool, int64 or floatX.
  Expr expr() const;
  /// A literal as a scalar constant for use with a value of `dtype`. UserError where the number does not fit.
  Expr for_dtype(DType dtype) const;

 private:
  struct Literal {
    bool is_float, is_bool;
    int64_t integer;
    double number;
  };
  std::variant<Expr, Literal> value_;
  std::source_location where_;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// Literals take the dtype of the expressions with them (the promoted one of several).
std::vector<Expr> resolve(std::initializer_list<const Operand*> operands);

}  // namespace thtrain
