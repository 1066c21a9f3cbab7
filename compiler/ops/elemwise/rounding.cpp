// Rounding to integers. Integers and bools are rounded already.
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static Exprs zero_gradient(const ScalarGradientArgs& g) {
  return {zeros_like(g.dout())};
}

const Op& floor_op() {
  static const ScalarOp record{
      .name = "floor",
      .doc = "The largest integer not above x, in the dtype of x. Its derivative is 0.",
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference1<kBools | kReals>([](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return x;
        else
          return std::floor(x);
      }),
      .code = code1<kBools | kReals>([](Term x) { return is_float(x.dtype()) ? kernel::floor(x) : x; }),
      .gradient = zero_gradient,
      .edge_cases = {0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5, 1e15},
      .smooth = false,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& ceil_op() {
  static const ScalarOp record{
      .name = "ceil",
      .doc = "The smallest integer not below x, in the dtype of x; -0 for x in (-1, 0). Its derivative is 0.",
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference1<kBools | kReals>([](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return x;
        else
          return std::ceil(x);
      }),
      .code = code1<kBools | kReals>([](Term x) { return is_float(x.dtype()) ? kernel::ceil(x) : x; }),
      .gradient = zero_gradient,
      .edge_cases = {0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5, 1e15},
      .smooth = false,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& trunc_op() {
  static const ScalarOp record{
      .name = "trunc",
      .doc = "x without its fraction, in the dtype of x. Its derivative is 0.",
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference1<kBools | kReals>([](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return x;
        else
          return std::trunc(x);
      }),
      .code = code1<kBools | kReals>([](Term x) { return is_float(x.dtype()) ? kernel::trunc(x) : x; }),
      .gradient = zero_gradient,
      .edge_cases = {0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5, 1e15},
      .smooth = false,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& round_op() {
  static const ScalarOp record{
      .name = "round",
      .doc = "The nearest integer, of two the even one, in the dtype of x. Its derivative is 0.",
      .signature = same_as_promoted(kBools | kReals),
      .reference = reference1<kBools | kReals>([](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return x;
        else
          return std::nearbyint(x);
      }),
      .code = code1<kBools | kReals>([](Term x) { return is_float(x.dtype()) ? kernel::rint(x) : x; }),
      .gradient = zero_gradient,
      .edge_cases = {0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5, 1e15},
      .smooth = false,
      .rounding = Rounding::kExact};
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
