// Builders of Bessel functions of any whole order.
#include <cmath>
#include <numbers>

#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/gauss.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

constexpr int64_t kHighestOrder = 20;
constexpr int kBesselPoints = 64;

struct OrderedArgument {
  int64_t n;
  Expr x, size;  // of doubles
  DType dtype;
};
OrderedArgument argument_of(int64_t n, const Operand& operand, std::string_view builder) {
  const Expr x = operand.expr();
  if (n < -kHighestOrder || n > kHighestOrder || is_complex(x.dtype()))
    fail_build(operand.where(), str(builder, ": order ", n), "an order from -20 to 20, and real numbers",
               value_text(x));
  const Expr wide = cast(operand, DType::kFloat64);
  return {.n = std::abs(n), .x = wide, .size = abs(wide), .dtype = is_float(x.dtype()) ? x.dtype() : floatX()};
}
bool is_odd(int64_t n) {
  return n % 2 != 0;
}

// (x / 2)^n / (sqrt(pi) Gamma(n + 1/2))
Expr power_over_gamma_of_half(int64_t n, const Expr& x) {
  const double gamma = std::tgamma(static_cast<double>(n) + 0.5) * std::sqrt(std::numbers::pi);
  return pow(0.5 * x, static_cast<double>(n)) / gamma;
}

// Poisson's integral, whose integrand hardly changes its sign where x <= n.
Expr bessel_below_order(int64_t n, const Expr& x) {
  const Expr half = zeros_like(x) + std::numbers::pi / 2;
  return 2.0 * power_over_gamma_of_half(n, x) * integral_from_0(half, kBesselPoints, [&](const Expr& t) {
           return cos(expand_dims(x, {-1}) * cos(t)) * pow(sin(t), static_cast<double>(2 * n));
         });
}

// Of modified functions no term is negative: those that count are up to `end`.
Expr scaled_modified(int64_t n, const Expr& x) {
  const double width = std::sqrt(static_cast<double>(2 * n)) + 9.0;
  const Expr end = minimum(1.2 * width / sqrt(x), std::numbers::pi);
  return power_over_gamma_of_half(n, x) * integral_from_0(stop_gradient(end), kBesselPoints, [&](const Expr& t) {
           return exp(-2.0 * expand_dims(x, {-1}) * sqr(sin(0.5 * t))) * pow(sin(t), static_cast<double>(2 * n));
         });
}

}  // namespace

Expr jv(int64_t order, const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const auto [n, x, size, dtype] = argument_of(order, operand, "jv");
  Expr out;
  if (n < 2) {
    out = n == 0 ? j0(size) : j1(size);
  } else {
    const Expr is_near = le(size, static_cast<double>(n)), far = where(is_near, static_cast<double>(n), size);
    Expr before = j0(far), now = j1(far);
    for (int64_t k = 1; k < n; ++k) {
      const Expr next = (2.0 * static_cast<double>(k)) * now / far - before;
      before = now;
      now = next;
    }
    out = where(is_near, bessel_below_order(n, where(is_near, size, 1.0)), where(eq(far, far + 1.0), 0.0, now));
  }
  const bool is_negative_order = order < 0 && is_odd(n);
  if (is_odd(n)) out = where(lt(x, 0), is_negative_order ? out : -out, is_negative_order ? -out : out);
  return cast(out, dtype);
}

Expr ive(int64_t order, const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const auto [n, x, size, dtype] = argument_of(order, operand, "ive");
  Expr out;
  if (n < 2) {
    out = n == 0 ? i0e(x) : i1e(x);
  } else {
    const Expr is_inside = logical_and(gt(size, 0), lt(size, std::numeric_limits<double>::infinity())),
               of_size = scaled_modified(n, where(is_inside, size, 1.0)),
               values = where(is_inside, of_size, where(isnan(size), size, 0.0));
    out = is_odd(n) ? where(lt(x, 0), -values, values) : values;
  }
  return cast(out, dtype);
}

Expr iv(int64_t order, const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const auto [n, x, size, dtype] = argument_of(order, operand, "iv");
  return cast(exp(size) * ive(n, x), dtype);
}

}  // namespace thtrain
