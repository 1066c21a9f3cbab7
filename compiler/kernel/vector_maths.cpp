#include "compiler/kernel/vector_maths.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace thtrain::kernel {
namespace {

// What differs between float32 and float64.
struct Constants {
  double ln2_high, ln2_low;      // their sum is ln 2; the first as the dtype has it
  double overflows, underflows;  // from here on exp is infinite, or 0
  double saturates;              // from here on tanh is 1
  std::vector<double> series;    // of (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, the highest power first
};

// The series are minimax polynomials (Remez' exchange, in 200 bits, for the error as a part of e^r - 1), rounded to the
// dtype: off by 0.0024 ulp of e^r - 1 in float64, 0.0041 in float32.
const Constants& constants_of(DType dtype) {
  static const Constants float32{.ln2_high = 0x1.62e43p-1,
                                 .ln2_low = -0x1.05c61p-29,
                                 .overflows = 89,
                                 .underflows = -104,
                                 .saturates = 10,
                                 .series = {0x1.a19f231df16c3p-13, 0x1.6d70a6fabcef5p-10, 0x1.11109171769cbp-7,
                                            0x1.5554b2fb99318p-5, 0x1.555555878fef7p-3, 0.5}};
  static const Constants float64{
      .ln2_high = 0x1.62e42fefa39efp-1,
      .ln2_low = 0x1.abc9e3b39803fp-56,
      .overflows = 710,
      .underflows = -746,
      .saturates = 20,
      .series = {0x1.1f9470ec44f47p-29, 0x1.af5d700a1edf2p-26, 0x1.27e4c65693c56p-22, 0x1.71ddf922af6abp-19,
                 0x1.a01a01b051278p-16, 0x1.a01a01af8b0e1p-13, 0x1.6c16c16c145f1p-10, 0x1.111111110f7aep-7,
                 0x1.555555555555ap-5, 0x1.5555555555559p-3, 0.5}};
  return dtype == DType::kFloat32 ? float32 : float64;
}

// times x = power ln 2 + times r with a whole power and |times r| <= ln 2 / 2; times is 1 or 2.
struct Reduced {
  Term power, two_to;  // 2^power, where it is a normal number
  Term expm1_r;        // (e^(times r) - 1) / times
};

Reduced reduce(const Term& x, int times, Code& code) {
  const Constants& c = constants_of(x.dtype());
  const bool f32 = x.dtype() == DType::kFloat32;
  const DType bits = f32 ? DType::kInt32 : DType::kInt64;
  const auto number = [&](double value) { return constant(x.dtype(), value); };
  code.comment(times == 1 ? "x = power ln 2 + r, and e^r - 1 by a polynomial"
                          : "2 |x| = power ln 2 + 2 r, and (e^2r - 1) / 2 by a polynomial");
  // Numbers of the size of `whole` lie 1 apart, and what is added to it is in its last bits: with the exponent's bias
  // in those too, they are the exponent of 2^power.
  const double whole = f32 ? 0x1.8p23 + 127 : 0x1.8p52 + 1023;
  const Term rounded = code.let("rounded", fma(x, number(times * std::numbers::log2e), number(whole)));
  const Term power = code.let("power", rounded - number(whole));
  const Term r = code.let("r", fma(power, number(-c.ln2_low / times), fma(power, number(-c.ln2_high / times), x)));
  // Pairs of powers, which do not wait for each other. The i-th power of `times` rounds nothing.
  const Term square = code.let("square", r * r);
  const auto coefficient = [&](size_t i) {
    return number(c.series[i] * std::pow(times, static_cast<double>(c.series.size() - i)));
  };
  const size_t alone = c.series.size() % 2;
  Term series = alone ? coefficient(0) : Term();
  for (size_t i = alone; i < c.series.size(); i += 2) {
    const Term pair = code.let("pair", fma(coefficient(i), r, coefficient(i + 1)));
    series = series ? code.let("series", fma(series, square, pair)) : pair;
  }
  const Term two_to = bit_cast(shift_left(bit_cast(rounded, bits), constant_int(bits, f32 ? 23 : 52)), x.dtype());
  return {power, two_to, code.let("expm1_r", fma(series, square, r))};
}

// e^x = 2^power e^r. W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980, chapter 6.
Term exp(const Term& x, Code& code) {
  const Constants& c = constants_of(x.dtype());
  const Term high = constant(x.dtype(), c.overflows), low = constant(x.dtype(), c.underflows);
  code.comment("from these on e^x is infinite, or 0; NaN is neither, and stays");
  const Term below = code.let("below", select(x > high, high, x));
  const Reduced of = reduce(code.let("inside", select(below < low, low, below)), 1, code);
  return scale(of.expm1_r + constant(x.dtype(), 1), of.power);
}

// (e^2|x| - 1) / 2 = 2^power (e^2r - 1) / 2 + (2^power - 1) / 2, in which nothing cancels.
Term tanh(const Term& x, Code& code) {
  code.comment("tanh |x| = half / (half + 1) with half = (e^2|x| - 1) / 2");
  const auto number = [&](double value) { return constant(x.dtype(), value); };
  const Term saturated = number(constants_of(x.dtype()).saturates), size = code.let("size", fabs(x));
  const Reduced of = reduce(code.let("inside", select(size > saturated, saturated, size)), 2, code);
  const Term two_to = code.let("two_to", of.two_to);
  const Term half = code.let("half", fma(two_to, of.expm1_r, fma(two_to, number(0.5), number(-0.5))));
  return copy_sign(half / (half + number(1)), x);
}

}  // namespace

bool has_polynomial(const std::string& function, const Target& target) {
  // With fewer lanes, or multiply-adds of several instructions, the library is faster.
  return target.is_x86() && target.lanes_of(DType::kFloat64) >= 4 && (function == "exp" || function == "tanh");
}

Term polynomial(const std::string& function, const Term& x, Code& code) {
  TH_CHECK(is_float(x.dtype()) && (function == "exp" || function == "tanh"), function, " of ", name_of(x.dtype()),
           " is not computed by kernels");
  return function == "exp" ? exp(x, code) : tanh(x, code);
}

}  // namespace thtrain::kernel
