// LengthList as users write them, and what type rules ask about lengths that are not known yet.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string_view>

#include "compiler/ir/op.h"
#include "compiler/ops/operand.h"

namespace thtrain {

// ---- lengths --------------------------------------------------------------------------------------------------------

/// One length: a number, a name, a Dim, or an integer scalar expression whose value can be told before the graph runs
/// (a constant, a length, a scalar input, and +, -, * // of them). UserError for any other expression.
class Length {
 public:
  template <std::integral T>
  Length(T value) : dim_(static_cast<int64_t>(value)) {}
  Length(const Dim& dim) : dim_(dim) {}
  Length(const char* name, std::source_location where = std::source_location::current()) : dim_(name, where) {}
  Length(const Expr& scalar, std::source_location where = std::source_location::current());
  template <class T>
  requires requires(const T& t) {
    { t.expr() } -> std::convertible_to<const Expr&>;
  }
  Length(const T& variable, std::source_location where = std::source_location::current())
      : Length(variable.expr(), where) {}

  const Dim& dim() const { return dim_; }

 private:
  Dim dim_;
};

/// The lengths of a shape: {batch, 28, 28}, x.dims(), or a Shape.
struct LengthList {
  Dims dims;

  LengthList() = default;
  LengthList(std::initializer_list<Length> lengths);
  LengthList(Dims lengths) : dims(std::move(lengths)) {}
  LengthList(const std::vector<Length>& lengths);
  LengthList(const Shape& shape) : dims(shape.begin(), shape.end()) {}
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// Can the length be seen to be at least 0? Names of axes are; the value "@i~7" of a scalar, and differences, are not.
bool is_nonnegative(const Dim& dim);
/// max(dim, 0), which is `dim` where that can be seen.
Dim at_least_zero(const Dim& dim);
/// A length that the user computed: UserError where it is known and negative, a check at run time where it may be.
void require_length(const TypeArgs& args, const Dim& dim);
/// left <= right: UserError where it is known to be false, a check at run time where that cannot be seen.
void require_at_most(const TypeArgs& args, const Dim& left, const Dim& right, std::string_view what);

/// For references: UserError where the lengths of two values differ in a call.
void require_same_shape(const Node& node, const Shape& left, const Shape& right, std::string_view what);

/// `axis` of a value of that rank as a number from 0; UserError names the builder and the value.
size_t axis_of(int64_t axis, const Expr& x, std::string_view builder, const std::source_location& where);
/// The same for an axis of a result of that rank.
size_t axis_in(int64_t axis, size_t rank, const Expr& x, std::string_view builder, const std::source_location& where);

/// A builder's own complaint, before there is a node.
[[noreturn]] void fail_build(const std::source_location& where, std::string what, std::string expected = {},
                             std::string got = {}, std::string hint = {});
/// "x float32[60, 784]"
std::string value_text(const Expr& x);

}  // namespace thtrain
