// Exponentials, logarithms and powers.
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

const Op& exp_op() {
  static const ScalarOp record{
      .name = "exp",
      .doc =
          "e^x.\n"
          "Gradient: d/dx = exp(x).\n"
          "Edge cases: exp(-inf) is 0. In float32 inf above 88.73, in float64 above 709.79.\n"
          "Example: exp([0, 1]) = [1, 2.71828]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::exp(x); }),
      .code = math_code("exp"),
      .complex_code = complex1(complex_exp),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * g.out()}; },
      .edge_cases = {-745, -104, -88, 88.7, 88.8, 709.7, 709.8},
      .ulps = 4,
      .complex_ulps = 8,
      .spread = [](const double*, const double* e, double y) { return e[0] > 0 ? std::abs(y) * std::expm1(e[0]) : 0; }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& exp2_op() {
  static const ScalarOp record{
      .name = "exp2",
      .doc =
          "2^x, for real numbers.\n"
          "Gradient: d/dx = 2^x log(2).\n"
          "Edge cases: exp2(-inf) is 0.\n"
          "Example: exp2([1, 3]) = [2, 8]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::exp2(x); }),
      .code = math_code("exp2"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (g.out() * std::numbers::ln2)}; },
      .edge_cases = {-1075, -150, 127.9, 128, 1023.9, 1024},
      .ulps = 4,
      .spread = [](const double*, const double* e, double y) { return e[0] > 0 ? y * std::expm1(e[0]) : 0; }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& expm1_op() {
  static const ScalarOp record{
      .name = "expm1",
      .doc =
          "e^x - 1 without the cancellation near 0, for real numbers.\n"
          "Gradient: d/dx = expm1(x) + 1.\n"
          "Edge cases: expm1(-inf) is -1, expm1(-0) is -0.\n"
          "Example: expm1([0, 1]) = [0, 1.71828]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::expm1(x); }),
      .code = math_code("expm1"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (g.out() + 1)}; },
      .edge_cases = {1e-10, -1e-10, -40, 88.8, 709.8},
      .ulps = 4,
      .spread = [](const double*, const double* e, double y) { return e[0] > 0 ? (y + 1) * std::expm1(e[0]) : 0; }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& log_op() {
  static const ScalarOp record{
      .name = "log",
      .doc =
          "The natural logarithm.\n"
          "Gradient: d/dx = 1/x.\n"
          "Edge cases: log(0) is -inf, of a negative real number NaN.\n"
          "Example: log([1, 10]) = [0, 2.302585]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::log(x); }),
      .code = math_code("log"),
      .complex_code = complex1(complex_log),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / g.x()}; },
      .singular_in = 0,
      .low = 0.2,
      .high = 4,
      .edge_cases = {1, 0.999, 1.001, -1},
      .ulps = 4,
      .complex_ulps = 8,
      .spread = [](const double* x, const double* e, double) { return relative_error(x[0], e[0], 0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& log2_op() {
  static const ScalarOp record{
      .name = "log2",
      .doc =
          "The logarithm to the base 2, of real numbers.\n"
          "Gradient: d/dx = 1 / (x log(2)).\n"
          "Edge cases: log2(0) is -inf, of a negative number NaN.\n"
          "Example: log2([1, 8]) = [0, 3]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::log2(x); }),
      .code = math_code("log2"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (g.x() * std::numbers::ln2)}; },
      .singular_in = 0,
      .low = 0.2,
      .high = 4,
      .edge_cases = {1, 8, 0.999},
      .ulps = 4,
      .spread = [](const double* x, const double* e, double) { return 1.5 * relative_error(x[0], e[0], 0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& log10_op() {
  static const ScalarOp record{
      .name = "log10",
      .doc =
          "The logarithm to the base 10, of real numbers.\n"
          "Gradient: d/dx = 1 / (x log(10)).\n"
          "Edge cases: log10(0) is -inf, of a negative number NaN.\n"
          "Example: log10([1, 1000]) = [0, 3]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::log10(x); }),
      .code = math_code("log10"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (g.x() * std::numbers::ln10)}; },
      .singular_in = 0,
      .low = 0.2,
      .high = 4,
      .edge_cases = {1, 1000, 0.999},
      .ulps = 4,
      .spread = [](const double* x, const double* e, double) { return 0.5 * relative_error(x[0], e[0], 0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& log1p_op() {
  static const ScalarOp record{
      .name = "log1p",
      .doc =
          "log(1 + x) without the cancellation near 0, of real numbers.\n"
          "Gradient: d/dx = 1 / (1 + x).\n"
          "Edge cases: log1p(-1) is -inf, below -1 NaN.\n"
          "Example: log1p([0, 1]) = [0, 0.693147]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return std::log1p(x); }),
      .code = math_code("log1p"),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (g.x() + 1)}; },
      .singular_in = 0,
      .low = -0.7,
      .high = 3,
      .edge_cases = {1e-10, -1e-10, -1, -0.999, -2},
      .ulps = 4,
      .spread = [](const double* x, const double* e, double) { return relative_error(x[0], e[0], -1); }};
  static const Op& op = define_elementwise(record);
  return op;
}

// Of integers: by squaring. A negative exponent gives the integer part of 1 / base^-exponent, and 0 for the base 0.
template <class T>
static T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if constexpr (std::is_signed_v<T>)
        if (base == -1) return exponent % 2 == 0 ? T(1) : T(-1);
      return 0;
    }
    T out = 1;
    for (; exponent > 0; exponent = static_cast<T>(exponent / 2)) {
      if (exponent % 2 == 1) out = wrapping_mul(out, base);
      base = wrapping_mul(base, base);
    }
    return out;
  } else {
    return std::pow(base, exponent);
  }
}

const Op& pow_op() {
  static const ScalarOp record{
      .name = "pow",
      .doc =
          "a^b; bools count as int64.\n"
          "Gradient: d/da = b a^(b-1), and 0 where b is 0; d/db = a^b log(a), and 0 where a is 0 and b is not "
          "negative.\n"
          "Edge cases: a^0 and 1^b are 1 even for NaN. Integers wrap around; a negative integer exponent gives 1 and "
          "-1 where that is exact, else 0.\n"
          "Example: pow([2, 3], 3) = [8, 27]",
      .arity = 2,
      .signature = same_as_promoted(kNumbers),
      .reference = reference2<kNumbers>([](auto a, auto b) { return power(a, b); }),
      .code = code2<kFloats>([](Term a, Term b) {
        return kernel::math("pow", {a, b});
      }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            // Inner selections, so that second derivatives do not multiply 0 by an infinity either.
            Expr da = g.dout() * (g.y() * pow(g.x(), switch_(eq(g.y(), 0), 0, g.y() - 1)));
            Expr at_zero = eq(g.x(), 0);
            if (!is_complex(g.y().dtype())) at_zero = mul(at_zero, ge(g.y(), 0));
            return Exprs{da, g.dout() * (g.out() * log(switch_(at_zero, 1, g.x())))};
          },
      .singular_in = 0,
      .low = 0.2,
      .high = 3,
      .edge_cases = {0.5, 1, -1, 2, 3, -2},
      .ulps = 4,
      .spread =
          [](const double* x, const double* e, double y) {
            if (e[0] == 0 && e[1] == 0) return 0.0;
            if (x[0] <= e[0] && (x[0] != 0 || e[0] > 0) && e[1] > 0) return std::numeric_limits<double>::infinity();
            // |y| (exp(|d log y|) - 1)
            const double of_base = std::abs(x[1]) * relative_error(x[0], e[0], 0);
            const double of_exponent = e[1] > 0 ? e[1] * (std::abs(std::log(x[0])) + relative_error(x[0], e[0], 0)) : 0;
            if (std::isinf(of_base) && x[1] > 0) return std::pow(std::abs(x[0]) + e[0], x[1]) + std::abs(y);
            return std::abs(y) * std::expm1(of_base + of_exponent);
          }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr exp(const Operand& x) {
  return unary(exp_op(), x);
}
Expr exp2(const Operand& x) {
  return unary(exp2_op(), x);
}
Expr expm1(const Operand& x) {
  return unary(expm1_op(), x);
}
Expr log(const Operand& x) {
  return unary(log_op(), x);
}
Expr log2(const Operand& x) {
  return unary(log2_op(), x);
}
Expr log10(const Operand& x) {
  return unary(log10_op(), x);
}
Expr log1p(const Operand& x) {
  return unary(log1p_op(), x);
}
Expr pow(const Operand& a, const Operand& b) {
  return binary(pow_op(), a, b);
}

}  // namespace thtrain
