// Logic of truth values (everything but 0 is true) and of the bits of integers.
#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

static std::optional<Signature> truth_values(std::span<const DType> inputs, const Props&) {
  return Signature{.inputs = std::vector<DType>(inputs.size(), DType::kBool), .outputs = {DType::kBool}};
}

static Term exclusive_or(const Term& a, const Term& b) {
  return (a && !b) || (!a && b);
}

const Op& logical_and_op() {
  static const ScalarOp record{.name = "logical_and",
                               .doc = "Both are not 0; NaN is not 0. Gives bool. Not connected.",
                               .arity = 2,
                               .signature = truth_values,
                               .reference = reference2<kBools>([](bool a, bool b) { return a && b; }),
                               .code = code2<kBools>([](Term a, Term b) { return a && b; }),
                               .commutative = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& logical_or_op() {
  static const ScalarOp record{.name = "logical_or",
                               .doc = "One of them is not 0; NaN is not 0. Gives bool. Not connected.",
                               .arity = 2,
                               .signature = truth_values,
                               .reference = reference2<kBools>([](bool a, bool b) { return a || b; }),
                               .code = code2<kBools>([](Term a, Term b) { return a || b; }),
                               .commutative = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& logical_not_op() {
  static const ScalarOp record{.name = "logical_not",
                               .doc = "x is 0. Gives bool. Not connected.",
                               .signature = truth_values,
                               .reference = reference1<kBools>([](bool x) { return !x; }),
                               .code = code1<kBools>([](Term x) { return !x; })};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_and_op() {
  static const ScalarOp record{
      .name = "bitwise_and",
      .doc = "a & b of the bits of integers, or of bools. Not connected.",
      .arity = 2,
      .signature = same_as_promoted(kBools | kInts),
      .reference = reference2<kBools | kInts>([](auto a, auto b) { return static_cast<decltype(a)>(a & b); }),
      .code = code2<kBools | kInts>([](Term a, Term b) { return is_bool(a.dtype()) ? a && b : a & b; }),
      .commutative = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_or_op() {
  static const ScalarOp record{
      .name = "bitwise_or",
      .doc = "a | b of the bits of integers, or of bools. Not connected.",
      .arity = 2,
      .signature = same_as_promoted(kBools | kInts),
      .reference = reference2<kBools | kInts>([](auto a, auto b) { return static_cast<decltype(a)>(a | b); }),
      .code = code2<kBools | kInts>([](Term a, Term b) { return is_bool(a.dtype()) ? a || b : a | b; }),
      .commutative = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_xor_op() {
  static const ScalarOp record{
      .name = "bitwise_xor",
      .doc = "a ^ b of the bits of integers, or of bools. Not connected.",
      .arity = 2,
      .signature = same_as_promoted(kBools | kInts),
      .reference = reference2<kBools | kInts>([](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); }),
      .code = code2<kBools | kInts>([](Term a, Term b) { return is_bool(a.dtype()) ? exclusive_or(a, b) : a ^ b; }),
      .commutative = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_not_op() {
  static const ScalarOp record{.name = "bitwise_not",
                               .doc = "Every bit of an integer inverted; of bools: not x. Not connected.",
                               .signature = same_as_promoted(kBools | kInts),
                               .reference = reference1<kBools | kInts>([](auto x) {
                                 if constexpr (std::is_same_v<decltype(x), bool>)
                                   return !x;
                                 else
                                   return static_cast<decltype(x)>(~x);
                               }),
                               .code = code1<kBools | kInts>([](Term x) { return is_bool(x.dtype()) ? !x : ~x; })};
  static const Op& op = define_elementwise(record);
  return op;
}

// Logic casts each side by itself, so that a literal keeps its own value.
Expr logical_and(const Operand& a, const Operand& b) {
  return elementwise(logical_and_op(), {a.expr(), b.expr()}, {}, a.where());
}
Expr logical_or(const Operand& a, const Operand& b) {
  return elementwise(logical_or_op(), {a.expr(), b.expr()}, {}, a.where());
}
Expr logical_not(const Operand& x) {
  return unary(logical_not_op(), x);
}
Expr bitwise_and(const Operand& a, const Operand& b) {
  return binary(bitwise_and_op(), a, b);
}
Expr bitwise_or(const Operand& a, const Operand& b) {
  return binary(bitwise_or_op(), a, b);
}
Expr bitwise_xor(const Operand& a, const Operand& b) {
  return binary(bitwise_xor_op(), a, b);
}
Expr bitwise_not(const Operand& x) {
  return unary(bitwise_not_op(), x);
}

}  // namespace thtrain
