// Trigonometric functions and their inverses, in radians.
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

const Op& sin_op() {
  static const ScalarOp record{.name = "sin",
                               .doc =
                                   "The sine.\n"
                                   "Gradient: d/dx = cos(x).\n"
                                   "Edge cases: of an infinity: NaN.\n"
                                   "Example: sin([0, 1]) = [0, 0.841471]",
                               .signature = floats_to_same(),
                               .reference = reference1<kFloats | kComplexes>([](auto x) { return std::sin(x); }),
                               .code = math_code("sin"),
                               .complex_code = complex1(complex_sin),
                               .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * cos(g.x())}; },
                               .edge_cases = {3.14159265, 1e6, -1e6},
                               .ulps = 4,
                               .complex_ulps = 8,
                               .spread = [](const double*, const double* e, double) { return std::min(e[0], 2.0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& cos_op() {
  static const ScalarOp record{
      .name = "cos",
      .doc =
          "The cosine.\n"
          "Gradient: d/dx = -sin(x).\n"
          "Edge cases: of an infinity: NaN.\n"
          "Example: cos([0, 1]) = [1, 0.540302]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::cos(x); }),
      .code = math_code("cos"),
      .complex_code = complex1(complex_cos),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{neg(g.dout() * sin(g.x()))}; },
      .edge_cases = {3.14159265, 1e6, -1e6},
      .ulps = 4,
      .complex_ulps = 8,
      .spread = [](const double*, const double* e, double) { return std::min(e[0], 2.0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& tan_op() {
  static const ScalarOp record{
      .name = "tan",
      .doc =
          "The tangent.\n"
          "Gradient: d/dx = 1 + tan(x)^2.\n"
          "Edge cases: of an infinity: NaN.\n"
          "Example: tan([0, 1]) = [0, 1.557408]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::tan(x); }),
      .code = math_code("tan"),
      .complex_code = complex1(complex_tan),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (sqr(g.out()) + 1)}; },
      .low = -1.2,
      .high = 1.2,
      .edge_cases = {1.57079, 3, -100},
      .ulps = 4,
      .complex_ulps = 12,
      .spread =
          [](const double*, const double* e, double y) {
            const double t = e[0] < 0.7 ? std::tan(e[0]) : std::numeric_limits<double>::infinity();
            const double left = 1 - std::abs(y) * t;
            return left > 0 ? t * (1 + y * y) / left : std::numeric_limits<double>::infinity();
          }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arcsin_op() {
  static const ScalarOp record{
      .name = "arcsin",
      .doc =
          "The inverse of the sine, in [-pi/2, pi/2].\n"
          "Gradient: d/dx = 1 / sqrt(1 - x^2).\n"
          "Edge cases: NaN for real |x| > 1.\n"
          "Example: arcsin([0, 1]) = [0, 1.570796]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::asin(x); }),
      .code = math_code("asin"),
      .complex_code = complex1(complex_asin),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / sqrt(1 - sqr(g.x()))}; },
      .low = -0.8,
      .high = 0.8,
      .edge_cases = {1, -1, 1.001},
      .ulps = 4,
      .complex_ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arccos_op() {
  static const ScalarOp record{
      .name = "arccos",
      .doc =
          "The inverse of the cosine, in [0, pi].\n"
          "Gradient: d/dx = -1 / sqrt(1 - x^2).\n"
          "Edge cases: NaN for real |x| > 1.\n"
          "Example: arccos([1, 0]) = [0, 1.570796]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::acos(x); }),
      .code = math_code("acos"),
      .complex_code = complex1(complex_acos),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{neg(g.dout() / sqrt(1 - sqr(g.x())))}; },
      .low = -0.8,
      .high = 0.8,
      .edge_cases = {1, -1, 1.001},
      .ulps = 4,
      .complex_ulps = 8};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arctan_op() {
  static const ScalarOp record{
      .name = "arctan",
      .doc =
          "The inverse of the tangent, in [-pi/2, pi/2].\n"
          "Gradient: d/dx = 1 / (1 + x^2).\n"
          "Edge cases: of an infinity: pi/2 with its sign.\n"
          "Example: arctan([0, 1]) = [0, 0.785398]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::atan(x); }),
      .code = math_code("atan"),
      .complex_code = complex1(complex_atan),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (sqr(g.x()) + 1)}; },
      .edge_cases = {1, 1e10, -1e10},
      .ulps = 4,
      .complex_ulps = 8,
      .spread = spread_same};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& arctan2_op() {
  static const ScalarOp record{.name = "arctan2",
                               .doc =
                                   "The angle of the point (x, y) from the first axis, in [-pi, pi].\n"
                                   "Gradient: d/dy = x / (x^2 + y^2), d/dx = -y / (x^2 + y^2).\n"
                                   "Edge cases: the sign of a zero y chooses the side of the negative axis.\n"
                                   "Example: arctan2([1, -1], [1, -1]) = [0.785398, -2.356194]",
                               .arity = 2,
                               .signature = floats_to_same(kFloats),
                               .reference = reference2<kFloats>([](auto y, auto x) { return std::atan2(y, x); }),
                               .code = math_code("atan2"),
                               .gradient =
                                   [](const ScalarGradientArgs& g) {
                                     const Expr &y = g.x(), &x = g.y();  // the first and the second input
                                     Expr scaled = g.dout() / (sqr(x) + sqr(y));
                                     return Exprs{scaled * x, neg(scaled * y)};
                                   },
                               .low = 0.3,
                               .high = 2,
                               .edge_cases = {1, -1},
                               .ulps = 4,
                               .spread =
                                   [](const double* x, const double* e, double) {
                                     const double distance = std::hypot(x[0], x[1]), e_all = std::hypot(e[0], e[1]);
                                     if (e_all == 0) return 0.0;
                                     const bool crosses_cut = std::abs(x[0]) <= e[0] && x[1] <= e[1];
                                     return crosses_cut || distance <= 2 * e_all ? 2 * std::numbers::pi
                                                                                 : 1.2 * e_all / (distance - e_all);
                                   }};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr sin(const Operand& x) {
  return unary(sin_op(), x);
}
Expr cos(const Operand& x) {
  return unary(cos_op(), x);
}
Expr tan(const Operand& x) {
  return unary(tan_op(), x);
}
Expr arcsin(const Operand& x) {
  return unary(arcsin_op(), x);
}
Expr arccos(const Operand& x) {
  return unary(arccos_op(), x);
}
Expr arctan(const Operand& x) {
  return unary(arctan_op(), x);
}
Expr arctan2(const Operand& y, const Operand& x) {
  return binary(arctan2_op(), y, x);
}

}  // namespace thtrain
