// Hyperbolic functions and their inverses.
#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

const Op& sinh_op() {
  static const ScalarOp record{.name = "sinh",
                               .doc =
                                   "The hyperbolic sine, (e^x - e^-x) / 2.\n"
                                   "Gradient: d/dx = cosh(x).\n"
                                   "Edge cases: an infinity stays.\n"
                                   "Example: sinh([0, 1]) = [0, 1.175201]",
                               .signature = floats_to_same(),
                               .reference = reference1<kFloats | kComplexes>([](auto x) { return std::sinh(x); }),
                               .code = math_code("sinh"),
                               .complex_code = complex1(complex_sinh),
                               .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * cosh(g.x())}; },
                               .edge_cases = {1e-10, 89, -89, 710},
                               .ulps = 4,
                               .complex_ulps = 8,
                               .spread = [](const double* x, const double* e,
                                            double) { return e[0] > 0 ? e[0] * std::cosh(std::abs(x[0]) + e[0]) : 0; }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& cosh_op() {
  static const ScalarOp record{.name = "cosh",
                               .doc =
                                   "The hyperbolic cosine, (e^x + e^-x) / 2.\n"
                                   "Gradient: d/dx = sinh(x).\n"
                                   "Edge cases: of an infinity: inf.\n"
                                   "Example: cosh([0, 1]) = [1, 1.543081]",
                               .signature = floats_to_same(),
                               .reference = reference1<kFloats | kComplexes>([](auto x) { return std::cosh(x); }),
                               .code = math_code("cosh"),
                               .complex_code = complex1(complex_cosh),
                               .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * sinh(g.x())}; },
                               .edge_cases = {1e-10, 89, -89, 710},
                               .ulps = 4,
                               .complex_ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& tanh_op() {
  static const ScalarOp record{
      .name = "tanh",
      .doc =
          "The hyperbolic tangent.\n"
          "Gradient: d/dx = 1 - tanh(x)^2.\n"
          "Edge cases: saturates to exactly -1 and 1.\n"
          "Example: tanh([0, 1]) = [0, 0.761594]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::tanh(x); }),
      .code = math_code("tanh"),
      .complex_code = complex1(complex_tanh),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (1 - sqr(g.out()))}; },
      .edge_cases = {1e-8, 0.5, 9, 20, -20},
      .ulps = 4,
      .complex_ulps = 12,
      .spread = spread_same};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arcsinh_op() {
  static const ScalarOp record{
      .name = "arcsinh",
      .doc =
          "The inverse of sinh.\n"
          "Gradient: d/dx = 1 / sqrt(1 + x^2).\n"
          "Edge cases: an infinity stays.\n"
          "Example: arcsinh([0, 1]) = [0, 0.881374]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::asinh(x); }),
      .code = math_code("asinh"),
      .complex_code = complex1(complex_asinh),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / sqrt(sqr(g.x()) + 1)}; },
      .edge_cases = {1e-10, 1e10, -1e10},
      .ulps = 4,
      .complex_ulps = 8,
      .spread = spread_same};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arccosh_op() {
  static const ScalarOp record{
      .name = "arccosh",
      .doc =
          "The inverse of cosh, not negative.\n"
          "Gradient: d/dx = 1 / (sqrt(x - 1) sqrt(x + 1)).\n"
          "Edge cases: NaN for real x < 1.\n"
          "Example: arccosh([1, 2]) = [0, 1.316958]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::acosh(x); }),
      .code = math_code("acosh"),
      .complex_code = complex1(complex_acosh),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (sqrt(g.x() - 1) * sqrt(g.x() + 1))}; },
      .singular_in = 0,
      .low = 1.3,
      .high = 4,
      .edge_cases = {1, 1.001, 0.999, 1e10},
      .ulps = 4,
      .complex_ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arctanh_op() {
  static const ScalarOp record{
      .name = "arctanh",
      .doc =
          "The inverse of tanh.\n"
          "Gradient: d/dx = 1 / (1 - x^2).\n"
          "Edge cases: of 1: inf, of -1: -inf, NaN for real |x| > 1.\n"
          "Example: arctanh([0, 0.5]) = [0, 0.549306]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::atanh(x); }),
      .code = math_code("atanh"),
      .complex_code = complex1(complex_atanh),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (1 - sqr(g.x()))}; },
      .singular_in = 0,
      .low = -0.8,
      .high = 0.8,
      .edge_cases = {1e-10, 1, -1, 1.001},
      .ulps = 4,
      .complex_ulps = 8,
      .spread =
          [](const double* x, const double* e, double) {
            const double farthest = std::abs(x[0]) + e[0];
            if (e[0] == 0) return 0.0;
            return farthest < 1 ? e[0] / (1 - farthest * farthest) : std::numeric_limits<double>::infinity();
          }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr sinh(const Operand& x) {
  return unary(sinh_op(), x);
}
Expr cosh(const Operand& x) {
  return unary(cosh_op(), x);
}
Expr tanh(const Operand& x) {
  return unary(tanh_op(), x);
}
Expr arcsinh(const Operand& x) {
  return unary(arcsinh_op(), x);
}
Expr arccosh(const Operand& x) {
  return unary(arccosh_op(), x);
}
Expr arctanh(const Operand& x) {
  return unary(arctanh_op(), x);
}

}  // namespace thtrain
