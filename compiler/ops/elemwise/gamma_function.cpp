// The gamma function.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/elemwise/series.h"

namespace thtrain {
namespace {

const Series kGammaNear{
    2,
    3,
    {-0x1.650dbab79cb61p-41, 0x1.ba4ea8bb96e0cp-39, -0x1.c091af402a4b9p-37, 0x1.1e00287f05fcbp-34,
     -0x1.57e9db306423bp-32, 0x1.e716b899c0986p-30, -0x1.ad8a6403b13c5p-28, 0x1.013bdf3ed25b2p-24,
     0x1.0886c54a255fep-27, 0x1.8b8fcf9634138p-19, 0x1.a55ed217389fcp-17, 0x1.5489cc6a2a52fp-13, 0x1.d0a9bc4930c69p-11,
     0x1.c138b89493f18p-8, 0x1.03f6d2fa4f509p-5, 0x1.4f224d4b7e016p-3, 0x1.de9585f1a7093p-2, 0x1.544fa6d47b390p+0},
    {0x1.a0b11e0000000p-19, 0x1.a52e6c0000000p-17, 0x1.543e9a0000000p-13, 0x1.d0ab1a0000000p-11, 0x1.c139920000000p-8,
     0x1.03f6d20000000p-5, 0x1.4f224c0000000p-3, 0x1.de95860000000p-2, 0x1.544fa60000000p+0}};

// Of the logarithm of what Stirling's formula lacks, in 1 / x^2, the highest power first.
const std::vector<double> kStirlingOfGamma{1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                           1.0 / 1260, -1.0 / 360,      1.0 / 12};

// By products from the interval [2, 3] on up to 13, by Stirling's formula behind it, and below -1 by
// Gamma(x) Gamma(-x) = -pi / (x sin(pi x)).
Term gamma_code(const Term& x) {
  const auto number = [&](double value) { return number_like(x, value); };
  const Term is_negative = x <= number(-1), size = select(is_negative, -x, x);
  Term base = size, factors = number(1), divisor = number(1);
  for (int step = 0; step < 3; ++step) {
    const Term is_small = base < number(2);
    divisor = select(is_small, divisor * base, divisor);
    base = select(is_small, base + number(1), base);
  }
  for (int step = 0; step < 10; ++step) {
    const Term is_large = base >= number(3), less = base - number(1);
    factors = select(is_large, factors * less, factors);
    base = select(is_large, less, base);
  }
  const Term near = factors * value_of(kGammaNear, base) / divisor;
  const Term inverse = number(1) / size, rest = inverse * polynomial_of(kStirlingOfGamma, inverse * inverse);
  // The power in two halves, which do not overflow before the product does.
  const Term half = kernel::math("pow", {size, number(0.5) * size - number(0.25)});
  const Term far =
      half * (kernel::math("exp", {-size}) * number(2.50662827463100050242)) * kernel::math("exp", {rest}) * half;
  // Of NaN it is NaN: no comparison with it holds.
  const Term far_or_infinite = select(half >= number(x.dtype() == DType::kFloat32 ? 0x1p120 : 0x1p1000),
                                      number(std::numeric_limits<double>::infinity()), far);
  const Term value = select(size < number(13), near, far_or_infinite);
  const Term whole = kernel::rint(size), angle = (size - whole) * number(std::numbers::pi),
             halved = whole * number(0.5);
  const Term sine = kernel::math("sin", {angle}), is_odd = kernel::rint(halved) != halved;
  const Term product = size * select(is_odd, -sine, sine) * value;
  const Term reflected =
      select(size != whole, -number(std::numbers::pi) / product, number(std::numeric_limits<double>::quiet_NaN()));
  return select(is_negative, reflected, value);
}

long double gamma_of(long double x) {
  if (x < 0 && x == std::nearbyint(x)) return std::numeric_limits<long double>::quiet_NaN();
  return std::tgamma(x);
}

}  // namespace

const Op& gamma_op() {
  static const ScalarOp record{
      .name = "gamma",
      .doc =
          "Gamma(x), of real numbers: (x - 1)! of whole ones.\n"
          "Gradient: d/dx = y psi(x).\n"
          "Edge cases: infinite at 0, with its sign, NaN at negative integers; inf from 35.04 (float32) and 171.63 "
          "on.\n"
          "Example: gamma([0.5, 5]) = [1.772454, 24]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(gamma_of(x)); }),
      .code = code1<kFloats>(gamma_code),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (g.out() * psi(g.x()))}; },
      .low = 0.3,
      .high = 9,
      .edge_cases = {1e-10, 0.5, 1, 1.4616321449683622, 2, 3, -0.5, -1.5, -5.25, 12.5, 13.5, 33.3, 170.5, 200},
      .ulps = 24,
      .spread =
          [](const double* x, const double* e, double) {
            if (e[0] == 0) return 0.0;
            if (!(x[0] - e[0] > 0)) return std::numeric_limits<double>::infinity();
            const double low = std::tgamma(x[0] - e[0]), high = std::tgamma(x[0] + e[0]), y = std::tgamma(x[0]);
            // The least value is at 1.4616.
            const double least = x[0] - e[0] < 1.47 && x[0] + e[0] > 1.46 ? y - 0.8856 : 0;
            return std::max({std::abs(low - y), std::abs(high - y), least});
          }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr gamma(const Operand& x) {
  return unary(gamma_op(), x);
}

}  // namespace thtrain
