// The logarithm of the gamma function, and its derivative.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/elemwise/series.h"

namespace thtrain {
namespace {

const Series kGammalnSmall{
    0.75,
    3.25,
    {-0x1.e18137b8641c8p-25, 0x1.6063bc6ad8968p-24, 0x1.8d998c3843f9dp-22,  -0x1.17d2fc671ea5fp-21,
     -0x1.49e17fcf1d1bfp-20, 0x1.c0f96c288c79bp-20, 0x1.4cafcf10e4c36p-19,  -0x1.b271ace77e9f4p-19,
     -0x1.dedfbdac7eb5bp-19, 0x1.2dfa7fe258a68p-18, 0x1.ce52cc6d1f243p-19,  -0x1.10f2b19c7389bp-18,
     -0x1.a175076a203e6p-19, 0x1.f77dfeca5768ep-19, 0x1.000c9e5bbe957p-21,  0x1.0f20a34c346fdp-23,
     -0x1.efebd1b41682ap-19, 0x1.81971bd94f4b9p-18, -0x1.16274a9aed662p-17, 0x1.da4e9580537afp-17,
     -0x1.97a21267566f9p-16, 0x1.5942670d9c22bp-15, -0x1.257c949dd2d3dp-14, 0x1.f5cf9aaa77e79p-14,
     -0x1.af32252eb2facp-13, 0x1.74be73abc4807p-12, -0x1.44971c9e8113bp-11, 0x1.1d3d0d27445c0p-10,
     -0x1.fb225e1b568aep-10, 0x1.c9b03f034d97dp-9,  -0x1.a5a04c774c68ep-8,  0x1.8fe42bca1793ep-7,
     -0x1.8c4b4d6d3d428p-6,  0x1.a5f3b6cb06379p-5,  -0x1.00cff26324a63p-3,  0x1.b0ee6072093cep-2},
    {0x1.8de49c4f1557ep-14, -0x1.2bc8369ca33afp-13, -0x1.5685705d0f93ep-13, 0x1.b433f1a3359cfp-13,
     0x1.79cd67d1ca7f1p-12, -0x1.086d3452e9b1dp-11, 0x1.a2c5bc70999a2p-13, -0x1.d3dcb2986872ep-12,
     0x1.2c51bfefa7e15p-10, -0x1.04cd46d6bfda4p-9, 0x1.c826a421dd686p-9, -0x1.a5061b416ae99p-8, 0x1.8fee1cad64fffp-7,
     -0x1.8c4e27687c685p-6, 0x1.a5f39e3b7ed10p-5, -0x1.00cff06ec6af1p-3, 0x1.b0ee607700efep-2}};
const Series kGammalnMiddle{
    3.25,
    10,
    {0x1.d8bbe260cff2cp-30, -0x1.c084e74e6cdc3p-29, -0x1.90ffe666d956dp-28, 0x1.5ef2ae50394b4p-27,
     0x1.54f6e94541c09p-26, -0x1.2fe7fd27a401ep-25, -0x1.92302158c7260p-28, 0x1.0889a6b2e896ap-29,
     0x1.9e6a1e09161e1p-24, -0x1.95eb1af7fdc2ep-23, 0x1.4a62d100c43acp-22,  -0x1.61be3d1d7f8f5p-21,
     0x1.85e8275984bb6p-20, -0x1.9f5ba3bb741e5p-19, 0x1.bd3b51c62b852p-18,  -0x1.e3a9b8dbf3e05p-17,
     0x1.09b0806df40e8p-15, -0x1.27ccd927d5509p-14, 0x1.4ed261f2a2f5bp-13,  -0x1.82e542d1455dap-12,
     0x1.caf8c7197a11dp-11, -0x1.19c5cf95e19eep-9,  0x1.6a8ca872d8ea6p-8,   -0x1.f2c99baf210a9p-7,
     0x1.7c718856594c2p-5,  -0x1.5b7a873568e11p-3,  0x1.db08a5c93a629p-1,   0x1.87b66d74a0768p+2,
     0x1.78d4701f980c1p+2},
    {-0x1.28687bcfe79fdp-15, 0x1.2d824eb35b70fp-14, -0x1.17c0bc7b308a0p-15, 0x1.8db22d991bc63p-14,
     -0x1.a34f19a3d8fb7p-12, 0x1.e412c7508a16ep-11, -0x1.1806f1ffe59ecp-9, 0x1.696581498a636p-8, -0x1.f2e1e84c831dbp-7,
     0x1.7c77e34c45368p-5, -0x1.5b7a6247aa96dp-3, 0x1.db089f46d93ffp-1, 0x1.87b66d6c8efd6p+2, 0x1.78d47021c229fp+2}};
const Series kPsiSmall{1,
                       3,
                       {0x1.94bf835236c18p-29, -0x1.79a29ed4e2647p-28, -0x1.969064abb5f6bp-27, 0x1.63ba28527a747p-26,
                        0x1.4a7287b52d0a0p-25, -0x1.1f8dd82e60dbdp-24, -0x1.1b658cc29762ep-25, 0x1.8aaf7de2ce3cfp-25,
                        0x1.2c716f0ac878ep-23, -0x1.0fe6d50ecc49dp-22, 0x1.2da07972a32a0p-22,  -0x1.3ad6078c70470p-21,
                        0x1.65403475ebde3p-20, -0x1.631f730a074b9p-19, 0x1.5dcd2022ab97dp-18,  -0x1.5e2a96fe67fbdp-17,
                        0x1.5ed343b47697cp-16, -0x1.5f0ba1a4350d6p-15, 0x1.5f60d074fac70p-14,  -0x1.5feee6e147065p-13,
                        0x1.60c694817f661p-12, -0x1.620f0875d1551p-11, 0x1.64075fc7f2707p-10,  -0x1.6714cfd634117p-9,
                        0x1.6bdf5e1b78275p-8,  -0x1.7389aa80b3bcfp-7,  0x1.802924f9a4772p-6,   -0x1.95ec0c3ba92b0p-5,
                        0x1.be76b26db8071p-4,  -0x1.0aff270ca07a8p-2,  0x1.9213d46736ba4p-1},
                       {0x1.0b21b4d206158p-14, -0x1.f2acffebfff73p-14, -0x1.ea221365d391dp-21, -0x1.da3517a722b67p-16,
                        0x1.b3b0bc19cd916p-12, -0x1.9f76b37a99913p-11, 0x1.59b5d9f85b729p-10, -0x1.606e1351f95f1p-9,
                        0x1.6c8e787831c21p-8, -0x1.73e69d8ce2368p-7, 0x1.802381f52acb8p-6, -0x1.95e9d597743e8p-5,
                        0x1.be76c3fffe283p-4, -0x1.0aff28fce868dp-2, 0x1.9213d462bdf42p-1}};
const Series kPsiMiddle{3,
                        10,
                        {0x1.725c1fa441be9p-27, -0x1.3d21d93006613p-26, -0x1.bdf930efe0849p-25, 0x1.69f988760dc9dp-24,
                         0x1.4eeea7e1c3a1dp-23, -0x1.09686b4200fe3p-22, -0x1.d797c9e7c3363p-23, 0x1.5636b5d786db3p-22,
                         0x1.a6586bcf12775p-22, -0x1.466738fc89d94p-21, 0x1.0bda4d3ea9372p-23,  -0x1.7f1d34166e892p-22,
                         0x1.7ccc73b1c80b5p-20, -0x1.5970b7f756873p-19, 0x1.291322a75169bp-18,  -0x1.191cc749be10dp-17,
                         0x1.0bf969384ef1ap-16, -0x1.fadb476e20b46p-16, 0x1.e0e27a9b72216p-15,  -0x1.ca96aa5d78458p-14,
                         0x1.b79f77461783ep-13, -0x1.a82bb80f0a32ep-12, 0x1.9ca1a064998f7p-11,  -0x1.95a66ab89f088p-10,
                         0x1.9452be4c7dec7p-9,  -0x1.9a91a9e2987cep-8,  0x1.abf05595ba9e0p-7,   -0x1.cfa5fb623de57p-6,
                         0x1.0b5613ef07236p-4,  -0x1.5a1010824c9b8p-3,  0x1.29fb5d0422e43p-1,   0x1.cafc3ca8b2106p+0},
                        {-0x1.c62d0a8aac64fp-14, 0x1.8b6ec1a327452p-13, 0x1.9e9397645d738p-15, -0x1.1dac332aff3f9p-15,
                         -0x1.22dbb53e61688p-11, 0x1.049cb0d580dc8p-10, -0x1.81e0859586a68p-10, 0x1.88776bf2d0b8ap-9,
                         -0x1.9be333f51714ep-8, 0x1.ac96f375d482ep-7, -0x1.cf9b1172f46b3p-6, 0x1.0b5415f66c2b9p-4,
                         -0x1.5a102193f4739p-3, 0x1.29fb5ec438269p-1, 0x1.cafc3cad0d294p+0}};

// Of the asymptotic series in 1 / x^2, from x = 10 on, the highest power first.
const std::vector<double> kStirling{1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                    1.0 / 1260, -1.0 / 360,      1.0 / 12},
    kPsiFar{1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
constexpr double kRootOfPsi = 0x1.762d86356be3fp+0, kRestOfRoot = 0x1.b86a722197829p-54;

// Of x below 0 the functions of 1 - x, and sine and cosine of pi x, whose period is taken away.
struct Reflected {
  Term is_negative, x, rest;
};
Reflected reflected(const Term& x) {
  const Term is_negative = x < number_like(x, 0);
  return {is_negative, select(is_negative, number_like(x, 1) - x, x), x - kernel::rint(x)};
}

Term gammaln_code(const Term& given) {
  const auto [is_negative, x, rest] = reflected(given);
  const Term log = kernel::math("log", {x}), is_small = x < number_like(x, 0.75);
  const Term near = select(is_small, x + number_like(x, 1), x), of_one = select(is_small, x, x - number_like(x, 1)),
             of_two = select(is_small, x - number_like(x, 1), x - number_like(x, 2));
  const Term small = of_one * of_two * value_of(kGammalnSmall, near) - select(is_small, log, number_like(x, 0));
  const Term inverse = number_like(x, 1) / x;
  const Term far =
      kernel::fma(x - number_like(x, 0.5), log - number_like(x, 1), number_like(x, 0.41893853320467274178)) +
      inverse * polynomial_of(kStirling, inverse * inverse);
  const Term value =
      select(x < number_like(x, 3.25), small, select(x < number_like(x, 10), value_of(kGammalnMiddle, x), far));
  const Term sine = kernel::fabs(kernel::math("sin", {rest * number_like(x, std::numbers::pi)}));
  const Term other = kernel::math("log", {number_like(x, std::numbers::pi) / sine}) - value;
  return select(x > number_like(x, x.dtype() == DType::kFloat32 ? 3.4028234663852886e38 : 1.7976931348623157e308),
                number_like(x, std::numeric_limits<double>::infinity()), select(is_negative, other, value));
}

Term psi_code(const Term& given) {
  const auto [is_negative, x, rest] = reflected(given);
  const Term is_small = x < number_like(x, 1), near = select(is_small, x + number_like(x, 1), x),
             inverse = number_like(x, 1) / x;
  const Term root =
      number_like(x, x.dtype() == DType::kFloat32 ? static_cast<double>(static_cast<float>(kRootOfPsi)) : kRootOfPsi);
  const Term low = number_like(
      x, x.dtype() == DType::kFloat32 ? kRootOfPsi - static_cast<double>(static_cast<float>(kRootOfPsi)) : kRestOfRoot);
  const Term small = (near - root - low) * value_of(kPsiSmall, near) - select(is_small, inverse, number_like(x, 0));
  const Term squared = inverse * inverse;
  const Term far = kernel::math("log", {x}) - inverse * number_like(x, 0.5) - squared * polynomial_of(kPsiFar, squared);
  const Term value = select(x < number_like(x, 3), small, select(x < number_like(x, 10), value_of(kPsiMiddle, x), far));
  const Term cotangent =
      number_like(x, std::numbers::pi) / kernel::math("tan", {rest * number_like(x, std::numbers::pi)});
  const Term other =
      select(rest != number_like(x, 0), value - cotangent, number_like(x, std::numeric_limits<double>::quiet_NaN()));
  return select(is_negative, other, value);
}

long double psi_of(long double x) {
  if (std::isinf(x)) return x > 0 ? x : static_cast<long double>(std::numeric_limits<double>::quiet_NaN());
  if (x == 0) return -1 / x;
  if (x < 0) {
    const long double rest = x - std::nearbyint(x);
    if (rest == 0) return static_cast<long double>(std::numeric_limits<double>::quiet_NaN());
    return psi_of(1 - x) - std::numbers::pi_v<long double> / std::tan(std::numbers::pi_v<long double> * rest);
  }
  long double sum = 0;
  for (; x < 30; x += 1) sum -= 1 / x;
  const long double squared = 1 / (x * x);
  long double series = 0;
  for (const long double c : {1.0L / 12, -691.0L / 32760, 1.0L / 132, -1.0L / 240, 1.0L / 252, -1.0L / 120, 1.0L / 12})
    series = series * squared + c;
  return sum + std::log(x) - 1 / (2 * x) - squared * series;
}

}  // namespace

const Op& gammaln_op() {
  static const ScalarOp record{
      .name = "gammaln",
      .doc =
          "log |Gamma(x)|, of real numbers.\n"
          "Gradient: d/dx = psi(x).\n"
          "Edge cases: inf at 0 and at negative integers. Near its zeros below 0 only as many digits are right as the "
          "terms of the reflection formula have.\n"
          "Example: gammaln([1, 5]) = [0, 3.178054]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) {
        int sign = 0;
        return static_cast<decltype(x)>(lgammal_r(static_cast<long double>(x), &sign));
      }),
      .code = code1<kFloats>(gammaln_code),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * psi(g.x())}; },
      .low = 0.2,
      .high = 9,
      .edge_cases = {1e-10, 0.5, 0.75, 1, 1.5, 2, 3.25, 10, 1e10},
      .ulps = 12,
      .spread =
          [](const double* x, const double* e, double) {
            if (e[0] == 0) return 0.0;
            if (!(x[0] - e[0] > 0)) return std::numeric_limits<double>::infinity();
            const auto slope = [](double at) { return std::abs(static_cast<double>(psi_of(at))); };
            return e[0] * std::max(slope(x[0] - e[0]), slope(x[0] + e[0]));
          },
      .terms =  // of the logarithm of the sine too
      [](double x) {
        const double sine = std::abs(std::sin(std::numbers::pi * (x - std::nearbyint(x))));
        return x < 0 ? std::abs(std::lgamma(1 - x)) + std::abs(std::log(std::numbers::pi / sine)) + 1 : 0;
      }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& psi_op() {
  static const ScalarOp record{
      .name = "psi",
      .doc =
          "The derivative of log Gamma(x), of real numbers: the digamma function.\n"
          "Gradient: d/dx = trigamma(x), where x > 0; NaN elsewhere.\n"
          "Edge cases: -inf at 0, NaN at negative integers. Near its zeros below 0 only as many digits are right as "
          "the terms of the reflection formula have.\n"
          "Example: psi([1, 2]) = [-0.577216, 0.422784]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(psi_of(x)); }),
      .code = code1<kFloats>(psi_code),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * trigamma(g.x())}; },
      .low = 0.2,
      .high = 9,
      .edge_cases = {1e-10, 0.5, 1, 1.4616321449683622, 1.5, 3, 10, 1e10},
      .ulps = 12,
      .spread =
          [](const double* x, const double* e, double) {
            if (e[0] == 0) return 0.0;
            if (!(x[0] - e[0] > 0)) return std::numeric_limits<double>::infinity();
            return static_cast<double>(psi_of(x[0] + e[0]) - psi_of(x[0] - e[0]));
          },
      .terms =  // of the cotangent, what a rounding of its angle makes
      [](double x) {
        const double angle = std::numbers::pi * std::abs(x - std::nearbyint(x)), sine = std::sin(angle);
        return x < 0 ? static_cast<double>(psi_of(1 - x)) + std::numbers::pi * angle / (sine * sine) : 0;
      }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr gammaln(const Operand& x) {
  return unary(gammaln_op(), x);
}
Expr psi(const Operand& x) {
  return unary(psi_op(), x);
}

}  // namespace thtrain
