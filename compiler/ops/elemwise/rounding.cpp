// Rounding to integers. Integers and bools are rounded already.
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static Exprs zero_gradient(const ScalarGradientArgs& g) {
  return {zeros_like(g.dout())};
}

// `round` of a float; integers and bools stay.
template <class Round>
static ScalarOp rounding(const char* name, const char* doc, Round round, Term (*code)(Term)) {
  return {
      .name = name,
      .doc = str(
          doc,
          "\nGradient: 0.\nEdge cases: NaN and infinities stay, and a 0 has the sign of x; integers and bools stay."),
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference1<kBools | kReals>([round](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return x;
        else
          return round(x);
      }),
      .code = code1<kBools | kReals>([code](Term x) { return is_float(x.dtype()) ? code(x) : x; }),
      .gradient = zero_gradient,
      .edge_cases = {0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5, 1e15},
      .smooth = false,
      .rounding = Rounding::kExact};
}

const Op& floor_op() {
  static const ScalarOp record = rounding(
      "floor",
      "The largest integer not above x, in the dtype of x.\n"
      "Example: floor([1.5, -1.5]) = [1, -2]",
      [](auto x) { return std::floor(x); }, kernel::floor);
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& ceil_op() {
  static const ScalarOp record = rounding(
      "ceil",
      "The smallest integer not below x, in the dtype of x.\n"
      "Example: ceil([1.5, -1.5]) = [2, -1]",
      [](auto x) { return std::ceil(x); }, kernel::ceil);
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& trunc_op() {
  static const ScalarOp record = rounding(
      "trunc",
      "x without its fraction, in the dtype of x.\n"
      "Example: trunc([1.5, -1.5]) = [1, -1]",
      [](auto x) { return std::trunc(x); }, kernel::trunc);
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& round_op() {
  static const ScalarOp record = rounding(
      "round",
      "The nearest integer, of two the even one, in the dtype of x.\n"
      "Example: round([0.5, 1.5, 2.6]) = [0, 2, 3]",
      [](auto x) { return std::nearbyint(x); }, kernel::rint);
  static const Op& op = define_elementwise(record);
  return op;
}

Expr floor(const Operand& x) {
  return unary(floor_op(), x);
}
Expr ceil(const Operand& x) {
  return unary(ceil_op(), x);
}
Expr trunc(const Operand& x) {
  return unary(trunc_op(), x);
}
Expr round(const Operand& x) {
  return unary(round_op(), x);
}

}  // namespace thtrain
