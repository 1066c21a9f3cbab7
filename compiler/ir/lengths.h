// The values of named lengths in one call: bound from the shapes and integer scalars that the caller gives.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/ir/node.h"

namespace thtrain {

class Lengths {
 public:
  /// Binds the names in `leaf`'s type to the lengths of `value`, and the name of an integer scalar's value. UserError,
  /// naming the leaf, where dtype, rank or a length does not fit.
  void bind(const Expr& leaf, const Tensor& value) {
    bind_names(leaf, value);
    check(leaf, value);
  }
  /// The two halves apart, for several leaves that share names: first all names, then all checks.
  void bind_names(const Expr& leaf, const Tensor& value);
  void check(const Expr& leaf, const Tensor& value) const;
  /// A length that a node of the graph defined: its value in this call.
  void set(const std::string& name, int64_t value) { values_[name] = value; }
  void forget(const std::string& name) { values_.erase(name); }
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  int64_t operator()(const std::string& name) const;  // InternalError if it is not bound
  int64_t evaluate(const Dim& dim) const {
    return dim.is_known() ? dim.value() : dim.evaluate([this](const std::string& name) { return (*this)(name); });
  }
  Shape evaluate(const Dims& dims) const;

 private:
  std::unordered_map<std::string, int64_t> values_;
};

/// The name that an axis of this length tells, and what the axis has more: n of n + 1, none of 2 n or of n + m.
std::optional<std::pair<std::string, int64_t>> told_by(const Dim& dim);

/// A variable's name as part of names of lengths: what cannot be in those (spaces, operators) becomes "_".
std::string in_length_name(std::string_view name);

/// The name under which symbolic lengths know the value of an integer scalar input.
std::string value_name(const Node& input);

}  // namespace thtrain
