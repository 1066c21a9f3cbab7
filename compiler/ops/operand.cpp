#include "compiler/ops/operand.h"

#include <cmath>
#include <limits>

namespace thtrain {

Expr Operand::expr() const {
  if (const Expr* value = std::get_if<Expr>(&value_)) return *value;
  const Literal& literal = std::get<Literal>(value_);
  if (literal.is_bool) return make_constant(Tensor(literal.integer != 0), where_);
  if (!literal.is_float) return make_constant(Tensor(literal.integer), where_);
  return make_constant(Tensor(literal.number).cast(floatX()), where_);
}

Expr Operand::for_dtype(DType dtype) const {
  if (const Expr* value = std::get_if<Expr>(&value_)) return *value;
  const Literal& literal = std::get<Literal>(value_);
  if (literal.is_bool) return make_constant(Tensor(literal.integer != 0), where_);
  if (literal.is_float) {
    DType target = is_float(dtype) || is_complex(dtype) ? dtype : floatX();
    return make_constant(Tensor(literal.number).cast(target), where_);
  }
  if (is_bool(dtype)) return make_constant(Tensor(literal.integer), where_);
  Tensor exact(literal.integer);
  Tensor fitted = exact.cast(dtype);
  if (is_int(dtype) && (fitted.as_int() != literal.integer || (dtype == DType::kUInt64 && literal.integer < 0))) {
    Origin origin = Origin::here(where_);
    throw UserError({.what = str("the number ", literal.integer, " does not fit ", name_of(dtype)),
                     .node = origin.text(),
                     .config = origin.config(),
                     .hint = "cast the other operand to a wider dtype"});
  }
  return make_constant(fitted, where_);
}

std::vector<Expr> resolve(std::initializer_list<const Operand*> operands) {
  std::optional<DType> common;
  for (const Operand* operand : operands)
    if (!operand->is_literal()) {
      DType dtype = operand->expr().dtype();
      common = common ? promote(*common, dtype).value_or(*common) : dtype;
    }
  std::vector<Expr> out;
  for (const Operand* operand : operands) out.push_back(common ? operand->for_dtype(*common) : operand->expr());
  return out;
}

}  // namespace thtrain
