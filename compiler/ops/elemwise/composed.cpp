// Builders of elementwise functions that others compute.
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

Expr ceil_intdiv(const Operand& a, const Operand& b) {
  Origin origin = Origin::here(a.where());
  InheritOrigin inherit(origin);
  const Expr quotient = floor_div(a, b);
  return quotient + cast(neq(mod(a, b), 0), quotient.dtype());
}

Expr round_half_away(const Operand& operand) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr(), whole = trunc(operand);
  if (!is_float(x.dtype())) return whole;
  return where(ge(abs(x - whole), 0.5), whole + sign(x), whole);
}

Expr deg2rad(const Operand& x) {
  return mul(x, Operand(std::numbers::pi / 180, x.where()));
}

Expr rad2deg(const Operand& x) {
  return mul(x, Operand(180 / std::numbers::pi, x.where()));
}

Expr logical_xor(const Operand& a, const Operand& b) {
  return bitwise_xor(Operand(cast(a, DType::kBool), a.where()), Operand(cast(b, DType::kBool), b.where()));
}

Expr isclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  Origin origin = Origin::here(a.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> both = resolve({&a, &b});
  for (Expr& each : both)
    if (!is_float(each.dtype()) && !is_complex(each.dtype())) each = cast(each, DType::kFloat64);
  const Expr &x = both[0], &y = both[1];
  const Expr size = abs(y);
  const Expr is_near = logical_and(le(abs(x - y), atol + rtol * size), logical_not(isinf(size)));
  const Expr out = logical_or(eq(x, y), is_near);  // equal infinities are close
  return equal_nan ? logical_or(out, logical_and(isnan(abs(x)), isnan(size))) : out;
}

Expr allclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return all(Operand(isclose(a, b, rtol, atol, equal_nan), a.where()));
}

Expr inopenrange(const Operand& x, const Operand& low, const Operand& high) {
  return logical_and(Operand(lt(low, x), low.where()), Operand(lt(x, high), x.where()));
}

Expr inclosedrange(const Operand& x, const Operand& low, const Operand& high) {
  return logical_and(Operand(le(low, x), low.where()), Operand(le(x, high), x.where()));
}

}  // namespace thtrain
