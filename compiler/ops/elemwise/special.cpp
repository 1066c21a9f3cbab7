// What networks and statistics make of exponentials: sigmoid, softplus, erf, erfc. Of real numbers.
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

static constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;

const Op& sigmoid_op() {
  static const ScalarOp record{
      .name = "sigmoid",
      .doc =
          "1 / (1 + e^-x), of real numbers, as min(e^x, 1) / (1 + e^-|x|): no overflow, and gradual underflow.\n"
          "Gradient: d/dx = y (1 - y).\n"
          "Edge cases: saturates to exactly 0 or 1, never NaN for a finite x.\n"
          "Example: sigmoid([0, 2]) = [0.5, 0.880797]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) {
        auto small = std::exp(-std::abs(x));
        return (x < 0 ? small : 1) / (1 + small);
      }),
      .code = code1<kFloats>([](Term x) {
        Term small = kernel::math("exp", {-kernel::fabs(x)});
        return kernel::select(x < 0, small, kernel::constant(x.dtype(), 1)) / (1 + small);
      }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (g.out() * (1 - g.out()))}; },
      .edge_cases = {-1e4, -104, -88.8, 16, 37, 1e4},
      .ulps = 6,
      .spread = [](const double*, const double* e,
                   double y) { return std::min(e[0] / 4, y * std::expm1(std::min(e[0], 100.0))); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& softplus_op() {
  static const ScalarOp record{
      .name = "softplus",
      .doc =
          "log(1 + e^x), of real numbers, as max(x, 0) + log1p(e^-|x|): no overflow.\n"
          "Gradient: d/dx = sigmoid(x).\n"
          "Edge cases: x itself where e^-x is too small to change it; of -inf: 0.\n"
          "Example: softplus([0, 1000]) = [0.693147, 1000]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); }),
      .code = code1<kFloats>([](Term x) {
        return kernel::select(x < 0, kernel::constant(x.dtype(), 0), x) +
               kernel::math("log1p", {kernel::math("exp", {-kernel::fabs(x)})});
      }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * sigmoid(g.x())}; },
      .edge_cases = {-1e4, -104, -1, 1, 88.8, 1e4},
      .ulps = 6,
      .spread = [](const double*, const double* e,
                   double y) { return std::min(e[0], y * std::expm1(std::min(e[0], 100.0))); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& erf_op() {
  static const ScalarOp record{
      .name = "erf",
      .doc =
          "The error function, of real numbers.\n"
          "Gradient: d/dx = 2/sqrt(pi) e^(-x^2).\n"
          "Edge cases: saturates to exactly -1 and 1.\n"
          "Example: erf([0, 1]) = [0, 0.842701]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::erf(x); }),
      .code = math_code("erf"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (kTwoOverSqrtPi * exp(neg(sqr(g.x()))))}; },
      .edge_cases = {1e-10, 0.5, 3.9, 6},
      .ulps = 4.5,
      .spread = [](const double*, const double* e, double) { return 1.13 * e[0]; }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& erfc_op() {
  static const ScalarOp record{
      .name = "erfc",
      .doc =
          "1 - erf(x) without the cancellation for large x, of real numbers.\n"
          "Gradient: d/dx = -2/sqrt(pi) e^(-x^2).\n"
          "Edge cases: of inf: 0, of -inf: 2.\n"
          "Example: erfc([0, 1]) = [1, 0.157299]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::erfc(x); }),
      .code = math_code("erfc"),
      .gradient =
          [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (-kTwoOverSqrtPi * exp(neg(sqr(g.x()))))}; },
      .edge_cases = {1e-10, 0.5, 10, 26, -6},
      .ulps = 4.5,
      .spread = [](const double* x, const double* e,
                   double) { return e[0] > 0 ? 1.13 * e[0] * std::exp(-std::pow(std::max(0.0, x[0] - e[0]), 2)) : 0; }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr sigmoid(const Operand& x) {
  return unary(sigmoid_op(), x);
}
Expr softplus(const Operand& x) {
  return unary(softplus_op(), x);
}
Expr erf(const Operand& x) {
  return unary(erf_op(), x);
}
Expr erfc(const Operand& x) {
  return unary(erfc_op(), x);
}

}  // namespace thtrain
