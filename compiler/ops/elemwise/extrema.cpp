// The larger and the smaller of values; NaN if any is.
#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

template <class T>
static T maximum_term(T a, T b) {
  return a >= b || a != a ? a : b;
}
template <class T>
static T minimum_term(T a, T b) {
  return a <= b || a != a ? a : b;
}

static Term maximum_term(const Term& a, const Term& b) {
  if (is_bool(a.dtype())) return a || b;
  return kernel::extremum(true, a, b);
}
static Term minimum_term(const Term& a, const Term& b) {
  if (is_bool(a.dtype())) return a && b;
  return kernel::extremum(false, a, b);
}

const Op& maximum_op() {
  static const ScalarOp record{
      .name = "maximum",
      .doc =
          "The larger of a and b.\n"
          "Gradient: to the one that was taken.\n"
          "Edge cases: NaN if either is; a where they are equal (0 and -0 are).\n"
          "Example: maximum([-1, 2], 0) = [0, 2]",
      .arity = 2,
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference2<kBools | kReals>([](auto a, auto b) { return maximum_term(a, b); }),
      .code = code2<kBools | kReals>([](Term a, Term b) { return maximum_term(a, b); }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            Expr second = lt(g.x(), g.y());
            return Exprs{switch_(second, 0, g.dout()), switch_(second, g.dout(), 0)};
          },
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return max(v[0], v[1]); },
      .spread = spread_larger,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& minimum_op() {
  static const ScalarOp record{
      .name = "minimum",
      .doc =
          "The smaller of a and b.\n"
          "Gradient: to the one that was taken.\n"
          "Edge cases: NaN if either is; a where they are equal (0 and -0 are).\n"
          "Example: minimum([-1, 2], 0) = [-1, 0]",
      .arity = 2,
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference2<kBools | kReals>([](auto a, auto b) { return minimum_term(a, b); }),
      .code = code2<kBools | kReals>([](Term a, Term b) { return minimum_term(a, b); }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            Expr second = gt(g.x(), g.y());
            return Exprs{switch_(second, 0, g.dout()), switch_(second, g.dout(), 0)};
          },
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return min(v[0], v[1]); },
      .spread = spread_larger,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& clip_op() {
  static const ScalarOp record{
      .name = "clip",
      .doc =
          "minimum(maximum(x, low), high).\n"
          "Gradient: to x from low to high, both included, else to the bound that was taken.\n"
          "Edge cases: high where the bounds cross.\n"
          "Example: clip([-3, 0.5, 9], 0, 1) = [0, 0.5, 1]",
      .arity = 3,
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference3<kBools | kReals>(
          [](auto x, auto low, auto high) { return minimum_term(maximum_term(x, low), high); }),
      .code = [](std::span<const Term> in,
                 const Signature&) { return std::vector<Term>{minimum_term(maximum_term(in[0], in[1]), in[2])}; },
      .gradient =
          [](const ScalarGradientArgs& g) {
            const Expr &x = g.inputs[0], &low = g.inputs[1], &high = g.inputs[2];
            Expr at_high = gt(maximum(x, low), high), at_low = gt(low, x);
            Expr below = switch_(at_high, 0, g.dout());  // the cotangent of maximum(x, low)
            return Exprs{switch_(at_low, 0, below), switch_(at_low, below, 0), switch_(at_high, g.dout(), 0)};
          },
      .spread =
          [](const double*, const double* e, double) {
            return std::max({e[0], e[1], e[2]});
          },
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr maximum(const Operand& a, const Operand& b) {
  return binary(maximum_op(), a, b);
}
Expr minimum(const Operand& a, const Operand& b) {
  return binary(minimum_op(), a, b);
}
Expr clip(const Operand& x, const Operand& low, const Operand& high) {
  return elementwise(clip_op(), resolve({&x, &low, &high}), {}, x.where());
}

}  // namespace thtrain
