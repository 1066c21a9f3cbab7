// The scaled complementary error function, and the inverses of erf and erfc.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/elemwise/series.h"

namespace thtrain {
namespace {

const Series kErfcx{
    -1,
    1,
    {0x1.624b8d9fef393p-29,  0x1.44f183de8b275p-28,  -0x1.26f00ed83807bp-26, -0x1.82a759f0312bbp-25,
     0x1.c0ad3525a7e76p-26,  0x1.816748201df50p-23,  0x1.35ab06c5a507ep-23,  -0x1.28995dd0942c0p-22,
     -0x1.c4f9d1ff2c0cdp-21, -0x1.71e02db3ac62ep-21, 0x1.95baacc7a9806p-20,  0x1.5e6c84d6355e5p-18,
     0x1.f179b5a07cd09p-19,  -0x1.c4b9e84ec0000p-17, -0x1.3186fe480e75bp-15, -0x1.9556d7b9b86a4p-20,
     0x1.3cc04e7987cbap-13,  0x1.b0c892725364bp-13,  -0x1.dc692b02d7318p-12, -0x1.7de5211ee243fp-10,
     0x1.4d461cfcfc026p-10,  0x1.1dd2ec90ea61cp-7,   -0x1.074234042daa1p-7,  -0x1.bc2b9561992b0p-5,
     0x1.4ffa1e14e258ep-3,   -0x1.5407bebf3243ep-3,  -0x1.7bf5ec170062ap-4,  0x1.46e80e2277953p+0},
    {-0x1.53d6d0202f433p-16, 0x1.09ca7015260aep-14, 0x1.d0ab5208b9f1dp-13, -0x1.774e89e3a0d68p-12,
     -0x1.7fcc22baa6734p-10, 0x1.3f230ab768c62p-10, 0x1.1de3503e00e14p-7, -0x1.06c3f015da462p-7, -0x1.bc2c23fc90a77p-5,
     0x1.4ff92903a4e33p-3, -0x1.5407bcdb1a52ep-3, -0x1.7bf5daf5f3940p-4, 0x1.46e80e21ed985p+0}};
const Series kErfinvSmall{
    0,
    6.25,
    {-0x1.1800dcbf7655ap-32, 0x1.a64454acc72d9p-31,  0x1.8d8098abcd5bap-30,  -0x1.260cd2f1c6664p-27,
     0x1.5a5184d1fa912p-28,  0x1.503ba4d125ef1p-25,  -0x1.a96b17877ab97p-24, -0x1.5d5da1b7fd9ccp-27,
     0x1.21cc1c15dfb87p-21,  -0x1.1c5d14613037dp-20, -0x1.6f30aa62f6e43p-21, 0x1.de7d9b8a5acd5p-18,
     -0x1.79bad0cd600e4p-17, -0x1.f83f146703393p-17, 0x1.879c71f06bfb9p-14,  -0x1.ea446f6d4be88p-14,
     -0x1.153ca239e8ef5p-12, 0x1.4316b4d6bf6dap-10,  -0x1.4d5dd2d288f3ap-10, -0x1.0f249df1b8482p-8,
     0x1.23c5aee6b8c35p-6,   -0x1.7259eca3a149bp-6,  -0x1.e2b19456a082dp-5,  0x1.8040caa12786bp-1,
     0x1.a755e7c99ae86p+0},
    {0x1.f1cc722468c1bp-15, -0x1.122e09736920ap-13, -0x1.db3090412bc64p-13, 0x1.44a01e7ab38f1p-10,
     -0x1.5273f2e2a475dp-10, -0x1.0f34d428e7c3ap-8, 0x1.23d89cb7fb566p-6, -0x1.7259e0207bc25p-6, -0x1.e2b262d2c1ab9p-5,
     0x1.8040cac8254dap-1, 0x1.a755e7e072246p+0}};
const Series kErfinvMiddle{
    2.5,
    4,
    {0x1.a7ee6cd2d0625p-36,  -0x1.1c6b809e24fb6p-34, -0x1.007570d08f0ffp-33, 0x1.0fd4768dc9d9cp-30,
     -0x1.528c13ca4039fp-29, -0x1.954e914918277p-32, 0x1.c5963bcb6d3a3p-26,  -0x1.96b0b242e6e7fp-24,
     0x1.8ef6de7943b0ep-24,  0x1.1aa473894c01dp-21,  -0x1.65a995d401276p-19, 0x1.5816a12ae9075p-18,
     0x1.42e8e04d5de35p-19,  -0x1.8d8d2c9517b78p-15, 0x1.63d03711119adp-13,  -0x1.a418d38d88595p-12,
     0x1.9d4ce38633f40p-11,  -0x1.9eda88e4f2171p-10, 0x1.8bfc9e26da7bap-9,   0x1.8204fa4162bffp-1,
     0x1.8abcc380d5a48p+1},
    {0x1.9aa9025ee461fp-18, -0x1.f61d1f31c522cp-19, -0x1.949d0441acb67p-15, 0x1.6ebdb0f76531dp-13,
     -0x1.a3beb2654d9d2p-12, 0x1.9c575fbf5d2b0p-11, -0x1.9ede53759ac16p-10, 0x1.8c043519683adp-9, 0x1.8204fa58a9f8fp-1,
     0x1.8abcc3773128cp+1}};
const Series kErfinvFar{4,
                        9,
                        {-0x1.66a8bc6baa732p-27, 0x1.c24fcb27d17bbp-26,  0x1.985c04575b2b1p-26,  -0x1.d8eb039bcab6ep-24,
                         0x1.0cd5b961fa363p-25,  0x1.fa1a58517a687p-24,  -0x1.b4edb04983e2bp-28, -0x1.79cacc61b88e8p-23,
                         0x1.31d1293a87773p-24,  0x1.57ff7f01bb406p-24,  -0x1.7186278155c7dp-27, -0x1.768a35d54aa43p-24,
                         0x1.be68e2aa461b0p-24,  -0x1.ccaf208bd9758p-23, 0x1.4afb4426ee4ffp-21,  -0x1.bc53bef0aca34p-20,
                         0x1.2080e797bb5d5p-18,  -0x1.6e270c38b7f0ap-17, 0x1.c2efe570c65b2p-16,  -0x1.0ab27e4503f92p-14,
                         0x1.293c52aa58babp-13,  -0x1.2aca53b07a9efp-12, 0x1.d98a8829c786fp-12,  -0x1.61b1996e43fc6p-13,
                         -0x1.a2512a35dbaffp-9,  0x1.42ea3dc3518f3p+1,   0x1.97557f3f581cfp+2},
                        {-0x1.2e9bcc1dffe73p-16, 0x1.5db22b41f72d5p-15, -0x1.ce7d7845e104fp-15, 0x1.0ac03373103b3p-13,
                         -0x1.2f1115dd590fap-12, 0x1.df581e6a9e339p-12, -0x1.60104bb282294p-13, -0x1.a2695f05a3334p-9,
                         0x1.42ea3d6bd752dp+1, 0x1.97557f4f4f033p+2}};
const Series kErfinvFarthest{
    9,
    27.5,
    {0x1.f657e8521669ep-29,  -0x1.cbf23d4ea0c4bp-28, -0x1.8cf9524555e62p-27, 0x1.5218fc53f29f9p-26,
     0x1.2d68550735e60p-25,  -0x1.ff7287d6d3137p-25, -0x1.db09031de5336p-27, 0x1.eaf0525f08c17p-27,
     0x1.ee4ac37531df6p-24,  -0x1.ab0ba0016fc2ep-23, 0x1.0e3de3a6235ccp-22,  -0x1.e76958e4796f3p-22,
     0x1.c284a2319b89cp-21,  -0x1.75b0adbaa97fap-20, 0x1.2286235e858d8p-19,  -0x1.9a6e33c7b455cp-19,
     0x1.c6c2eb8f91cf4p-19,  -0x1.d211265515739p-21, -0x1.75fbb0519c6bap-17, 0x1.a95b0657e4d8bp-15,
     -0x1.5a36ee663d393p-13, 0x1.f30cdffb02318p-12,  -0x1.539e2aefa5f01p-10, 0x1.c287658c0056ep-9,
     -0x1.2a59ea5392d6bp-7,  0x1.28cba3e2b95b6p+3,   0x1.22c74c56594d6p+4},
    {-0x1.6a180a5bddd3cp-16, 0x1.d3515b5a713a7p-17, 0x1.41cff65376157p-14, -0x1.956bfd5d4991cp-13,
     0x1.e5b3456d0e0d2p-12, -0x1.50a1bf3126992p-10, 0x1.c2d908f7b707dp-9, -0x1.2a66c4e62d5b4p-7, 0x1.28cba39e58f5ep+3,
     0x1.22c74c5efe0c7p+4}};

constexpr double kHalfOfRootOfPi = 0.88622692545275801365;  // sqrt(pi) / 2

// (1 + 2 |x|) erfcx(|x|) as a polynomial of 1 - 4 / (|x| + 2): M. Shepherd, J. Laframboise, Chebyshev Approximation of
// (1 + 2x) exp(x^2) erfc x in 0 <= x < inf, 1981. Below 0 it is 2 e^(x^2) less that.
Term erfcx_code(const Term& x) {
  const Term size = kernel::fabs(x), at = number_like(x, 1) - number_like(x, 4) / (size + number_like(x, 2));
  const Term value = value_of(kErfcx, at) / (number_like(x, 1) + number_like(x, 2) * size);
  const Term square = x * x, rest = kernel::fma(x, x, -square);
  // Where the square is so large that its power is infinite, the rest says nothing.
  const Term known = select(kernel::fabs(rest) < number_like(x, 1), rest, number_like(x, 0));
  const Term power = kernel::math("exp", {square}) * (number_like(x, 1) + known);
  return select(x < number_like(x, 0), number_like(x, 2) * power - value, value);
}

// erfinv(x) / x by w = -log(1 - x^2), from w = 6.25 on by its root (M. Giles, Approximating the erfinv function, 2011).
Term inverse_over_x(const Term& one_less_square) {
  const Term w = -kernel::math("log", {one_less_square}), root = kernel::sqrt(w);
  const auto far = [&](const Series& series) { return value_of(series, root); };
  return select(w < number_like(w, 6.25), value_of(kErfinvSmall, w),
                select(root < number_like(w, 4), far(kErfinvMiddle),
                       select(root < number_like(w, 9), far(kErfinvFar), far(kErfinvFarthest))));
}

Term erfinv_code(const Term& x) {
  const Term one = number_like(x, 1), size = kernel::fabs(x);
  const Term value = x * inverse_over_x((one - size) * (one + size));
  return select(size != one, value, kernel::copy_sign(number_like(x, std::numeric_limits<double>::infinity()), x));
}

Term erfcinv_code(const Term& p) {
  const Term rest = number_like(p, 2) - p, x = number_like(p, 1) - p;
  const Term value = x * inverse_over_x(p * rest);
  return select(p * rest != number_like(p, 0), value,
                kernel::copy_sign(number_like(p, std::numeric_limits<double>::infinity()), x));
}

long double erfcx_of(long double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  long double sum = 0, term = 1;
  for (int k = 1; k < 60; ++k) {
    sum += term;
    term *= -(2 * k - 1) / (2 * x * x);
  }
  return sum / (x * std::sqrt(std::numbers::pi_v<long double>));
}

// Newton's method, for erf(y) = x where that is small, and for the logarithm of erfc(y) = p.
long double erfcinv_of(long double p, long double x) {
  if (!(p >= 0 && p <= 2)) return std::numeric_limits<long double>::quiet_NaN();
  if (p == 0 || p == 2)
    return p == 0 ? static_cast<long double>(std::numeric_limits<double>::infinity())
                  : -static_cast<long double>(std::numeric_limits<double>::infinity());
  if (p > 1) return -erfcinv_of(2 - p, -x);
  const long double root = 2 / std::sqrt(std::numbers::pi_v<long double>);
  if (x < 0.5L) {
    long double y = x / root;
    for (int i = 0; i < 30; ++i) y -= (std::erf(y) - x) / (root * std::exp(-y * y));
    return y;
  }
  long double y = std::sqrt(-std::log(p));
  for (int i = 0; i < 60; ++i) y += (std::log(std::erfc(y)) - std::log(p)) * std::erfc(y) / (root * std::exp(-y * y));
  return y;
}

}  // namespace

const Op& erfcx_op() {
  static const ScalarOp record{
      .name = "erfcx",
      .doc =
          "e^(x^2) erfc(x), of real numbers.\n"
          "Gradient: d/dx = 2 x y - 2/sqrt(pi).\n"
          "Edge cases: of inf: 0; inf where e^(x^2) is so large, from -9.4 and -26.7 down.\n"
          "Example: erfcx([0, 10]) = [1, 0.056141]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(erfcx_of(x)); }),
      .code = code1<kFloats>(erfcx_code),
      .gradient =
          [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (2 * g.x() * g.out() - 1 / kHalfOfRootOfPi)}; },
      .edge_cases = {1e-10, 0.5, 10, 26, -6, -26, 1e10},
      .ulps = 10};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& erfinv_op() {
  static const ScalarOp record{
      .name = "erfinv",
      .doc =
          "The y with erf(y) = x, of real numbers.\n"
          "Gradient: d/dx = sqrt(pi)/2 e^(y^2).\n"
          "Edge cases: of -1 and 1: -inf and inf; NaN outside.\n"
          "Example: erfinv([0, 0.5]) = [0, 0.476936]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) {
        const auto size = std::abs(static_cast<long double>(x));
        return static_cast<decltype(x)>(std::copysign(erfcinv_of(1 - size, size), static_cast<long double>(x)));
      }),
      .code = code1<kFloats>(erfinv_code),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (kHalfOfRootOfPi * exp(sqr(g.out())))}; },
      .low = -0.9,
      .high = 0.9,
      .edge_cases = {1e-10, 0.5, 0.99, 0.9995, 0.999999, 1 - 1e-10, 1 - 1e-15, 1, -1, 1.5},
      .ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& erfcinv_op() {
  static const ScalarOp record{
      .name = "erfcinv",
      .doc =
          "The y with erfc(y) = p, of real numbers: digits of a small p are kept.\n"
          "Gradient: d/dp = -sqrt(pi)/2 e^(y^2).\n"
          "Edge cases: of 0 and 2: inf and -inf; NaN outside.\n"
          "Example: erfcinv([1, 0.5]) = [0, 0.476936]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>(
          [](auto p) { return static_cast<decltype(p)>(erfcinv_of(p, 1 - static_cast<long double>(p))); }),
      .code = code1<kFloats>(erfcinv_code),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (-kHalfOfRootOfPi * exp(sqr(g.out())))}; },
      .low = 0.1,
      .high = 1.9,
      .edge_cases = {1e-4, 1e-10, 1e-30, 1e-100, 1e-300, 0.5, 1, 1.5, 1.999, 2, 2.5},
      .ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr erfcx(const Operand& x) {
  return unary(erfcx_op(), x);
}
Expr erfinv(const Operand& x) {
  return unary(erfinv_op(), x);
}
Expr erfcinv(const Operand& p) {
  return unary(erfcinv_op(), p);
}

}  // namespace thtrain
