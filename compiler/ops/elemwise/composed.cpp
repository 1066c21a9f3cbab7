// Builders of elementwise functions that others compute.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

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

Expr polygamma(int64_t n, const Operand& operand) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = operand.expr();
  if (n < 1 || n > 20 || is_complex(x.dtype()))
    fail_build(operand.where(), str("polygamma: order ", n), "an order from 1 to 20, and real numbers", value_text(x),
               n == 0 ? "psi is that of order 0" : "");
  if (!is_float(x.dtype())) x = cast(operand, floatX());
  // (-1)^(n + 1) n! (sum of (x + k)^-(n + 1) + the rest from `shifts` on by Euler and Maclaurin).
  constexpr int kShifts = 14;
  constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  const auto order = static_cast<double>(n);
  const Expr positive = where(gt(x, 0), x, 1.0);
  const auto power = [&](const Expr& base) { return pow(base, -(order + 1)); };
  Expr sum = power(positive);
  for (int k = 1; k < kShifts; ++k) sum = sum + power(positive + static_cast<double>(k));
  const Expr from = positive + static_cast<double>(kShifts), inverse = reciprocal(from), square = sqr(inverse);
  // from^-n / n + from^-(n + 1) / 2 + sum of B_2j / (2 j)! (n + 1) ... (n + 2 j - 1) from^-(n + 2 j)
  Expr series = zeros_like(x);
  for (int j = 7; j >= 1; --j) {
    double factor = kBernoulli[j - 1];
    for (int i = 1; i <= 2 * j; ++i) factor /= i;
    for (int i = 1; i <= 2 * j - 1; ++i) factor *= order + i;
    series = (series + factor) * square;
  }
  const Expr rest = pow(from, -order) * (1 / order + inverse * 0.5 + series);
  const double sign = n % 2 == 1 ? 1 : -1;
  return where(gt(x, 0), (sum + rest) * (sign * std::tgamma(order + 1)), std::numeric_limits<double>::quiet_NaN());
}
Expr trigamma(const Operand& x) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return polygamma(1, x);
}

Expr i0(const Operand& x) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return exp(abs(x)) * i0e(x);
}
Expr i1(const Operand& x) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return exp(abs(x)) * i1e(x);
}

Expr logit(const Operand& p) {
  const Origin origin = Origin::here(p.where());
  InheritOrigin inherit(origin);
  return log(p) - log1p(neg(p));
}

Expr log1mexp(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = is_float(operand.expr().dtype()) ? operand.expr() : cast(operand, floatX());
  const Expr is_small = lt(x, std::numbers::ln2);
  return where(is_small, log(neg(expm1(neg(where(is_small, x, 1.0))))), log1p(neg(exp(neg(where(is_small, 1.0, x))))));
}

Expr xlogx(const Operand& x) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return xlogy0(x, x);
}
Expr xlogy0(const Operand& of_x, const Operand& of_y) {
  const Origin origin = Origin::here(of_x.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> both = resolve({&of_x, &of_y});
  const Expr &x = both[0], is_zero = eq(x, 0);
  return where(is_zero, 0.0, x * log(where(is_zero, 1.0, both[1])));
}

Expr angle(const Operand& z) {
  const Origin origin = Origin::here(z.where());
  InheritOrigin inherit(origin);
  const Expr value = is_complex(z.expr().dtype()) || is_float(z.expr().dtype()) ? z.expr() : cast(z, floatX());
  return arctan2(imag(value), real(value));
}

Expr complex_from_polar(const Operand& modulus, const Operand& angle) {
  const Origin origin = Origin::here(modulus.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> both = resolve({&modulus, &angle});
  return complex(both[0] * cos(both[1]), both[0] * sin(both[1]));
}

}  // namespace thtrain
