// Patterns of rules: expressions over pattern variables, found in a graph and built again from what was found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/op.h"

namespace thtrain {

// A pattern is built with the public builders, so that a rule reads as algebra: log(1 + x). It says nothing of lengths
// and dtypes: op for op it is compared with a value of any type.

/// Stands for any value. Where it occurs twice, it must be the same value. Lives in patterns only.
Expr any_value(const std::string& name);
/// Stands for a number: a constant of one element, or one that is repeated to other lengths.
Expr any_number(const std::string& name);
/// Stands for any condition of switch_.
Expr any_condition(const std::string& name);

/// What the variables of a pattern stand for.
class Binding {
 public:
  Binding() = default;
  /// For values that were not found by match(): `variable` stands for `value` as it is.
  void set(const Expr& variable, const Expr& value);
  /// The value, cast as the operation around the variable saw it.
  Expr value(const Expr& variable) const;
  /// The number that an any_number() stands for.
  double number(const Expr& variable) const;
  /// The value in which the pattern was found.
  const Expr& root() const { return root_; }

 private:
  friend class Matcher;
  struct Bound {
    const Node* variable;
    Expr value;
    DType seen;
  };
  const Bound* find(const Expr& variable) const;
  std::vector<Bound> bound_;
  Expr root_;
};

/// The variables' values where `value` has the form of `pattern`: the same ops and properties, the inputs of
/// commutative ops in either order, numbers equal after rounding to the dtype of the other operand (0 and -0 differ),
/// and one dtype throughout, but for operands that the operation casts.
std::optional<Binding> match(const Expr& pattern, const Expr& value);

/// `pattern` with values for its variables. Its numbers take the dtype of the other operands.
Expr instantiate(const Expr& pattern, const Binding& binding);

/// `result` repeated to the lengths of `type` where it has fewer. Empty where that does not give `type` exactly.
Expr broadcast_to_type(const Expr& result, const Type& type);

/// The one number that every element of the value is: a constant of one element, repeated, reshaped or shuffled.
/// As a scalar of the value's dtype; null for anything else.
const Tensor* number_in(const Expr& value);
/// The same as a double, for real dtypes.
std::optional<double> number_of(const Expr& value);

/// The variables of a pattern, each once, in order of occurrence.
std::vector<Expr> variables_of(const Expr& pattern);
bool is_any_number(const Expr& pattern);
bool is_any_condition(const Expr& pattern);

inline bool is_op(const Expr& value, const Op& op) {
  return value.node().op == &op;
}
inline const Expr& input_of(const Expr& value, size_t i) {
  return value.node().inputs[i];
}

}  // namespace thtrain
