// Builders of the incomplete gamma functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/gauss.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

constexpr int kPoints = 32;
constexpr int kShifts = 3;  // of the lower integral, which is flat below a = 3

// x^a e^-x / Gamma(a + 1). From a = 10 on by Stirling's series, so that no large terms cancel.
Expr power_over_gamma(const Expr& a, const Expr& x) {
  const Expr is_large = ge(a, 10), large = where(is_large, a, 10.0), apart = (x - large) / large,
             inverse = reciprocal(large), square = sqr(inverse);
  Expr series = zeros_like(a);
  for (const double c : {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12})
    series = series * square + c;
  const Expr far = large * (log1p(apart) - apart) - 0.5 * log(2 * std::numbers::pi * large) - series * inverse;
  return exp(where(is_large, far, a * log(x) - x - gammaln(where(is_large, 1.0, a) + 1.0)));
}

// The integral of t^(a - 1) e^-t / Gamma(a) up to x, for x <= a + 1. With t = x e^-u the rest falls from 1 on.
Expr lower_integral(const Expr& a, const Expr& x) {
  const Expr shifted = a + static_cast<double>(kShifts), slope = shifted - x - 20.0,
             root = sqrt(sqr(slope) + 80.0 * shifted);
  // Where the integrand is below e^-40, or a little behind it.
  const Expr end = where(gt(slope, 0), 80.0 / (slope + root), (root - slope) / shifted);
  Expr sum = 1.0 + x * integral_from_0(stop_gradient(end), kPoints, [&](const Expr& u) {
                     return exp(-expand_dims(shifted, {-1}) * u - expand_dims(x, {-1}) * expm1(-u));
                   });
  for (int k = kShifts - 1; k > 0; --k) sum = 1.0 + sum * x / (a + static_cast<double>(k));
  return power_over_gamma(a, x) * sum;
}

// The integral from x on, for x > a + 1: t = x e^u.
Expr upper_integral(const Expr& a, const Expr& x) {
  const Expr slope = x - a, end = minimum(80.0 / (slope + sqrt(sqr(slope) + 80.0 * x)), log1p(40.0 / slope));
  return a * power_over_gamma(a, x) * integral_from_0(stop_gradient(end), kPoints, [&](const Expr& u) {
           return exp(expand_dims(a, {-1}) * u - expand_dims(x, {-1}) * expm1(u));
         });
}

Expr incomplete_gamma(const Operand& of_a, const Operand& of_x, bool upper, std::string_view builder) {
  const Origin origin = Origin::here(of_a.where());
  InheritOrigin inherit(origin);
  const std::vector<Expr> both = resolve({&of_a, &of_x});
  for (const Operand* operand : {&of_a, &of_x})
    if (is_complex(operand->expr().dtype()))
      fail_build(operand->where(), str(builder, ": a complex number"), "real numbers", value_text(operand->expr()));
  const DType promoted = promote(both[0].dtype(), both[1].dtype()).value(),
              dtype = is_float(promoted) ? promoted : floatX();
  const Expr a = cast(both[0] + zeros_like(both[1]), DType::kFloat64),
             x = cast(both[1] + zeros_like(both[0]), DType::kFloat64);
  const Expr is_inside = logical_and(gt(a, 0), logical_and(gt(x, 0), lt(x, std::numeric_limits<double>::infinity()))),
             is_low = logical_and(is_inside, le(x, a + 1.0)), is_high = logical_and(is_inside, gt(x, a + 1.0));
  const Expr low = lower_integral(where(is_low, a, 1.0), where(is_low, x, 1.0)),
             high = upper_integral(where(is_high, a, 1.0), where(is_high, x, 3.0));
  const Expr at_ends =
      where(logical_and(ge(a, 0), logical_and(ge(x, 0), gt(a + x, 0))),
            where(gt(x, 0), upper ? 0.0 : 1.0, upper ? 1.0 : 0.0), std::numeric_limits<double>::quiet_NaN());
  const Expr of_low = upper ? 1.0 - low : low, of_high = upper ? high : 1.0 - high;
  return cast(where(is_low, of_low, where(is_high, of_high, at_ends)), dtype);
}

}  // namespace

Expr gammainc(const Operand& a, const Operand& x) {
  return incomplete_gamma(a, x, false, "gammainc");
}
Expr gammaincc(const Operand& a, const Operand& x) {
  return incomplete_gamma(a, x, true, "gammaincc");
}
Expr gammal(const Operand& a, const Operand& x) {
  const Origin origin = Origin::here(a.where());
  InheritOrigin inherit(origin);
  return incomplete_gamma(a, x, false, "gammal") * gamma(a);
}
Expr gammau(const Operand& a, const Operand& x) {
  const Origin origin = Origin::here(a.where());
  InheritOrigin inherit(origin);
  return incomplete_gamma(a, x, true, "gammau") * gamma(a);
}
Expr chi2sf(const Operand& x, const Operand& degrees) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return incomplete_gamma({0.5 * degrees.expr(), x.where()}, 0.5 * x.expr(), true, "chi2sf");
}

}  // namespace thtrain
