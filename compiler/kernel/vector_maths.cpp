#include "compiler/kernel/vector_maths.h"

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

// x = power ln 2 + r with a whole power and |r| <= ln 2 / 2.
struct Reduced {
  Term power, expm1_r;  // e^r - 1
};

Reduced reduce(const Term& x, Code& code) {
  const Constants& c = constants_of(x.dtype());
  const auto number = [&](double value) { return constant(x.dtype(), value); };
  code.comment("x = power ln 2 + r, and e^r - 1 by a polynomial");
  const Term power = code.let("power", rint(x * number(std::numbers::log2e)));
  const Term r = code.let("r", fma(power, number(-c.ln2_low), fma(power, number(-c.ln2_high), x)));
  Term series = number(c.series[0]);
  for (size_t i = 1; i < c.series.size(); ++i) series = code.let("series", fma(series, r, number(c.series[i])));
  return {power, code.let("expm1_r", fma(series, r * r, r))};
}

// e^x = 2^power e^r. W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980, chapter 6.
Term exp(const Term& x, Code& code) {
  const Constants& c = constants_of(x.dtype());
  const Term high = constant(x.dtype(), c.overflows), low = constant(x.dtype(), c.underflows);
  code.comment("from these on e^x is infinite, or 0; NaN is neither, and stays");
  const Term below = code.let("below", select(x > high, high, x));
  const Reduced of = reduce(code.let("inside", select(below < low, low, below)), code);
  return scale(of.expm1_r + constant(x.dtype(), 1), of.power);
}

// e^2|x| - 1 = 2^power (e^r - 1) + (2^power - 1), in which nothing cancels.
Term tanh(const Term& x, Code& code) {
  code.comment("tanh |x| = (e^2|x| - 1) / (e^2|x| - 1 + 2)");
  const Term saturated = constant(x.dtype(), constants_of(x.dtype()).saturates), one = constant(x.dtype(), 1);
  const Term size = code.let("size", fabs(x));
  const Term inside = code.let("inside", select(size > saturated, saturated, size));
  const Reduced of = reduce(code.let("twice", inside + inside), code);
  const Term two_to = code.let("two_to", scale(splat(one, x.lanes()), of.power));
  const Term expm1 = code.let("expm1", fma(two_to, of.expm1_r, two_to - one));
  return copy_sign(expm1 / (expm1 + constant(x.dtype(), 2)), x);
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
