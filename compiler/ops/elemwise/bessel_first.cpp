// Bessel functions of the first kind, of order 0 and 1.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/elemwise/series.h"

namespace thtrain {
namespace {

// Up to 8: of x^2, over the factors of the zeros there, and of x. From 8 on J(x) = sqrt(2 / (pi x)) (even cos(c) -
// odd 8 / x sin(c)), c = x - pi/4 or x - 3 pi/4, with series of (8 / x)^2.
const Series kJ0Near{0,
                     64,
                     {-0x1.a320cf96c9a27p-57, 0x1.cdf6a922f9295p-52, -0x1.c0361dd31228fp-47, 0x1.7df1408b8edaap-42,
                      -0x1.1a4d978efbf0fp-37, 0x1.65ec7d7179bb0p-33, -0x1.801f7f338767ap-29, 0x1.577f683b94385p-25,
                      -0x1.f633ea85eada8p-22, 0x1.250f53798040dp-18, -0x1.08db6a2de263fp-15, 0x1.6409a6fd7b18ap-13,
                      -0x1.5059ea69f58a4p-11, 0x1.99e65104a68d3p-10, -0x1.15d87e4b8d5b1p-9, 0x1.2bc29174dd587p-10},
                     {-0x1.8329f80000000p-29, 0x1.5b014c0000000p-25, -0x1.f62dd40000000p-22, 0x1.25092e0000000p-18,
                      -0x1.08db700000000p-15, 0x1.6409b80000000p-13, -0x1.5059ea0000000p-11, 0x1.99e6500000000p-10,
                      -0x1.15d87e0000000p-9, 0x1.2bc2920000000p-10}};
const Series kJ0Even{0,
                     1,
                     {0x1.2cca86c6338d9p-45, -0x1.cdb3179595bbdp-44, 0x1.143405810de71p-42, -0x1.1de864a95f83ap-40,
                      0x1.50dad9b31dc98p-38, -0x1.b63f441e64847p-36, 0x1.54dc6d1e48781p-33, -0x1.4d2ea54bfc4e9p-30,
                      0x1.b7ef13a07a483p-27, -0x1.b8d2d71b30a5ep-23, 0x1.9be00160d9865p-18, -0x1.193600c1de9d9p-11,
                      0x1.ffb8dd328503dp-1},
                     {-0x1.bc26940000000p-23, 0x1.9cbe8c0000000p-18, -0x1.1935f40000000p-11, 0x1.ffb8de0000000p-1}};
const Series kJ0Odd{0,
                    1,
                    {0x1.351cf3ac934b3p-49, -0x1.6d757f20d1676p-48, 0x1.51cdfedb5101dp-48, -0x1.27d49ee4c9805p-46,
                     0x1.39940138bbc23p-44, -0x1.07b105a41fb8ap-42, 0x1.e40005821f051p-41, -0x1.f905c8fb2d9f2p-39,
                     0x1.2ba6741e08da4p-36, -0x1.a0835f5e8cc28p-34, 0x1.61a55a33a65b0p-31, -0x1.858d1b79c15abp-28,
                     0x1.3135a89ef0351p-24, -0x1.8c8435284c2e2p-20, 0x1.1e9a6138fee30p-14, -0x1.fdb5c0b2f3d5bp-7},
                    {-0x1.8fc71e0000000p-28, 0x1.34c3b40000000p-24, -0x1.8c80500000000p-20, 0x1.1e9a280000000p-14,
                     -0x1.fdb5c00000000p-7}};
const Series kJ1Near{0,
                     64,
                     {0x1.b3c4211c57044p-57, -0x1.c2d74fed71ec1p-52, 0x1.98addda3cae96p-47, -0x1.43c188cda7deep-42,
                      0x1.ba3fb31fb1659p-38, -0x1.0137e04d892a0p-33, 0x1.f62979d659463p-30, -0x1.941a82672e615p-26,
                      0x1.06438a6958c8ep-22, -0x1.0af8bb9889cb5p-19, 0x1.9ac7788fbda1dp-17, -0x1.c5a7fc38dd1d1p-15,
                      0x1.4c9bd11c0aa3bp-13, -0x1.1adb1329ed86fp-12, 0x1.98ec1eee7c01ap-13},
                     {-0x1.02f61e0000000p-33, 0x1.fa7e660000000p-30, -0x1.9417060000000p-26, 0x1.063fc00000000p-22,
                      -0x1.0af8be0000000p-19, 0x1.9ac7840000000p-17, -0x1.c5a7fc0000000p-15, 0x1.4c9bd20000000p-13,
                      -0x1.1adb140000000p-12, 0x1.98ec1e0000000p-13}};
const Series kJ1Even{0,
                     1,
                     {-0x1.3f5b1671b84fbp-45, 0x1.ebf5d803cd896p-44, -0x1.2883a97c0530ap-42, 0x1.3459d80b23acap-40,
                      -0x1.6d4b96ca1b17cp-38, 0x1.df1d5756e9b34p-36, -0x1.78b760be6538cp-33, 0x1.75ea62e7b87d0p-30,
                      -0x1.f96172d037183p-27, 0x1.07762654afea9p-22, -0x1.0b1541bfbbd42p-17, 0x1.d73b8ea3c10dap-11,
                      0x1.003b716033732p+0},
                     {0x1.0953ce0000000p-22, -0x1.0b95060000000p-17, 0x1.d73b800000000p-11, 0x1.003b720000000p+0}};
const Series kJ1Odd{0,
                    1,
                    {0x1.811d207bb2e69p-48, -0x1.e48d4f144b8b2p-47, 0x1.3b2af8ab3c895p-46, -0x1.14bb49dd9cee7p-44,
                     0x1.19dbe8941e3f7p-42, -0x1.06a7aef913480p-40, 0x1.10b60277006bfp-38, -0x1.45d1fafbde408p-36,
                     0x1.c92e6248aa9afp-34, -0x1.8922fa1341065p-31, 0x1.b9302a517457ap-28, -0x1.64231273efe05p-24,
                     0x1.e8e009ca9282ep-20, -0x1.938da0a0a6a1fp-14, 0x1.7f323705062fbp-5},
                    {0x1.c4679a0000000p-28, -0x1.6816180000000p-24, 0x1.e8dbc40000000p-20, -0x1.938d600000000p-14,
                     0x1.7f32380000000p-5}};

// A zero, and what its double lacks.
struct Zero {
  double at, rest;
};
constexpr Zero kZerosOfJ0[] = {{0x1.33d152e971b40p+1, -0x1.0f539d7da258ep-53},
                               {0x1.6148f5b2c2e45p+2, 0x1.75054cd60a517p-54}};
constexpr Zero kZerosOfJ1[] = {{0x1.ea75575af6f09p+1, -0x1.60155a9d1b256p-53},
                               {0x1.c0ff5f3b47250p+2, -0x1.b226d9d243827p-54}};

Term times_zeros(Term value, const Term& x, std::span<const Zero> zeros) {
  for (const Zero& zero : zeros) {
    const bool is_float = x.dtype() == DType::kFloat32;
    const double high = is_float ? static_cast<double>(static_cast<float>(zero.at)) : zero.at,
                 low = is_float ? zero.at - high : zero.rest;
    value = value * ((x - number_like(x, high) - number_like(x, low)) * (x + number_like(x, high)));
  }
  return value;
}

// Of x >= 0: of order 0, or of order 1 without the factor x below 8.
Term bessel_first_code(const Term& x, bool of_one) {
  const Term near = times_zeros(value_of(of_one ? kJ1Near : kJ0Near, x * x), x,
                                of_one ? std::span<const Zero>(kZerosOfJ1) : std::span<const Zero>(kZerosOfJ0));
  const Term inverse = number_like(x, 8) / x, square = inverse * inverse;
  const Term even = value_of(of_one ? kJ1Even : kJ0Even, square),
             odd = value_of(of_one ? kJ1Odd : kJ0Odd, square) * inverse;
  const Term sine = kernel::math("sin", {x}), cosine = kernel::math("cos", {x});
  const Term waves =
      of_one ? even * (sine - cosine) + odd * (sine + cosine) : even * (sine + cosine) - odd * (sine - cosine);
  const Term far = waves / kernel::sqrt(number_like(x, std::numbers::pi) * x);
  // 0 at infinity.
  return select(x < number_like(x, 8), near, select(inverse == number_like(x, 0), number_like(x, 0), far));
}

long double j_of(int n, long double x) {
  return std::isinf(x) ? 0 : n == 0 ? ::j0l(x) : ::j1l(x);
}

// Of the waves from 8 on.
double amplitude(double x) {
  return std::abs(x) < 8 ? 0 : std::sqrt(2 / (std::numbers::pi * std::abs(x)));
}

}  // namespace

const Op& j0_op() {
  static const ScalarOp record{
      .name = "j0",
      .doc =
          "J_0(x), the Bessel function of the first kind of order 0, of real numbers.\n"
          "Gradient: d/dx = -j1(x).\n"
          "Edge cases: of infinities: 0. Near zeros from 8 on only as many digits are right as sine and cosine have.\n"
          "Example: j0([0, 1]) = [1, 0.765198]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(j_of(0, x)); }),
      .code = code1<kFloats>([](const Term& x) { return bessel_first_code(kernel::fabs(x), false); }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * -j1(g.x())}; },
      .low = -8.2,  // not as far as a zero from 8 on
      .high = 8.2,
      .edge_cases = {1e-10, 0.5, 2.404825557695773, 5.5, 8, -8, 30, 700, 1e6},
      .ulps = 12,
      .spread = [](const double*, const double* e, double) { return 0.6 * e[0]; },
      .terms = amplitude};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& j1_op() {
  static const ScalarOp record{
      .name = "j1",
      .doc =
          "J_1(x), the Bessel function of the first kind of order 1, of real numbers.\n"
          "Gradient: d/dx = j0(x) - y/x, 1/2 at 0.\n"
          "Edge cases: of infinities: 0. Near zeros from 8 on only as many digits are right as sine and cosine have.\n"
          "Example: j1([0, 1]) = [0, 0.440051]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(j_of(1, x)); }),
      .code = code1<kFloats>([](const Term& x) {
        const Term size = kernel::fabs(x), one = number_like(x, 1);
        return select(size < number_like(x, 8), x, copy_sign(one, x)) * bessel_first_code(size, true);
      }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            const Expr is_zero = eq(g.x(), 0), ratio = where(is_zero, 0.5, g.out() / where(is_zero, 1.0, g.x()));
            return Exprs{g.dout() * (j0(g.x()) - ratio)};
          },
      .low = -9,
      .high = 9,
      .edge_cases = {1e-10, 0.5, 3.8317059702075125, 5.5, 8, -8, 30, 700, 1e6},
      .ulps = 12,
      .spread = [](const double*, const double* e, double) { return 0.6 * e[0]; },
      .terms = amplitude};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr j0(const Operand& x) {
  return unary(j0_op(), x);
}
Expr j1(const Operand& x) {
  return unary(j1_op(), x);
}

}  // namespace thtrain
