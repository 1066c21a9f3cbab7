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
                               .doc =
                                   "Both are not 0.\n"
                                   "Gradient: none.\n"
                                   "Edge cases: NaN is not 0.\n"
                                   "Example: logical_and([1, 0], 1) = [1, 0]",
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
                               .doc =
                                   "One of them is not 0.\n"
                                   "Gradient: none.\n"
                                   "Edge cases: NaN is not 0.\n"
                                   "Example: logical_or([1, 0], 0) = [1, 0]",
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
                               .doc =
                                   "x is 0.\n"
                                   "Gradient: none.\n"
                                   "Edge cases: NaN is not 0.\n"
                                   "Example: logical_not([1, 0]) = [0, 1]",
                               .signature = truth_values,
                               .reference = reference1<kBools>([](bool x) { return !x; }),
                               .code = code1<kBools>([](Term x) { return !x; })};
  static const Op& op = define_elementwise(record);
  return op;
}

// `combine` of the bits of two integers; `of_bools` of two truth values.
template <class Combine, class OfBools>
static ScalarOp bitwise(const char* name, const char* symbol, const char* example, Combine combine, OfBools of_bools) {
  return {.name = name,
          .doc = str("a ", symbol,
                     " b of the bits of integers, or of bools.\n"
                     "Gradient: none.\n"
                     "Edge cases: negative integers are in two's complement.\n"
                     "Example: of 6 and 3: ",
                     example),
          .arity = 2,
          .signature = same_as_promoted(kBools | kInts),
          .reference =
              reference2<kBools | kInts>([combine](auto a, auto b) { return static_cast<decltype(a)>(combine(a, b)); }),
          .code = code2<kBools | kInts>([combine, of_bools](const Term& a, const Term& b) {
            return is_bool(a.dtype()) ? of_bools(a, b) : combine(a, b);
          }),
          .commutative = true};
}

const Op& bitwise_and_op() {
  static const ScalarOp record = bitwise(
      "bitwise_and", "&", "2", [](auto a, auto b) { return a & b; }, [](Term a, Term b) { return a && b; });
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_or_op() {
  static const ScalarOp record = bitwise(
      "bitwise_or", "|", "7", [](auto a, auto b) { return a | b; }, [](Term a, Term b) { return a || b; });
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_xor_op() {
  static const ScalarOp record = bitwise(
      "bitwise_xor", "^", "5", [](auto a, auto b) { return a ^ b; }, exclusive_or);
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& bitwise_not_op() {
  static const ScalarOp record{.name = "bitwise_not",
                               .doc =
                                   "Every bit of an integer inverted; of bools: not x.\n"
                                   "Gradient: none.\n"
                                   "Edge cases: of signed integers -x - 1.\n"
                                   "Example: of 6: -7",
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
