// Questions: comparisons, isnan, isinf. They give bools and are not connected.
#include <limits>

#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

// `compare` of two numbers, or of two terms; `of_bools`, where 0 is less than 1.
template <class Compare, class OfBools>
static ScalarOp ordering(const char* name, const char* symbol, const char* example, Compare compare, OfBools of_bools) {
  return {.name = name,
          .doc = str("a ", symbol,
                     " b in the promoted dtype.\n"
                     "Gradient: none.\n"
                     "Edge cases: false where either is NaN.\n"
                     "Example: ",
                     example),
          .arity = 2,
          .signature = promoted_to_bool(kBools | kReals),
          .reference = reference2<kBools | kReals>(compare),
          .code = code2<kBools | kReals>([compare, of_bools](const Term& a, const Term& b) {
            return is_bool(a.dtype()) ? of_bools(a, b) : compare(a, b);
          }),
          .symbol = symbol};
}

const Op& lt_op() {
  static const ScalarOp record = ordering(
      "lt", "<", "lt([1, 2], 2) = [1, 0]", [](auto a, auto b) { return a < b; },
      [](Term a, Term b) { return !a && b; });
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& le_op() {
  static const ScalarOp record = ordering(
      "le", "<=", "le([1, 2], 2) = [1, 1]", [](auto a, auto b) { return a <= b; },
      [](Term a, Term b) { return !a || b; });
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& gt_op() {
  static const ScalarOp record = ordering(
      "gt", ">", "gt([1, 3], 2) = [0, 1]", [](auto a, auto b) { return a > b; },
      [](Term a, Term b) { return a && !b; });
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& ge_op() {
  static const ScalarOp record = ordering(
      "ge", ">=", "ge([1, 2], 2) = [0, 1]", [](auto a, auto b) { return a >= b; },
      [](Term a, Term b) { return a || !b; });
  static const Op& op = define_elementwise(record);
  return op;
}

// Unknown where the errors may make them equal, or unequal.
static double spread_of_equality(const double* x, const double* e, double) {
  const double error = e[0] + e[1];
  return error > 0 && std::abs(x[0] - x[1]) <= error ? std::numeric_limits<double>::infinity() : 0;
}

const Op& eq_op() {
  static const ScalarOp record{
      .name = "eq",
      .doc =
          "a == b in the promoted dtype.\n"
          "Gradient: none.\n"
          "Edge cases: NaN equals nothing, -0 equals 0.\n"
          "Example: eq([1, 2], 2) = [0, 1]",
      .arity = 2,
      .signature = promoted_to_bool(kAll),
      .reference = reference2<kAll>([](auto a, auto b) { return a == b; }),
      .code =
          code2<kBools | kReals>([](Term a, Term b) { return is_bool(a.dtype()) ? (a && b) || (!a && !b) : a == b; }),
      .complex_code = complex2([](const Parts& a, const Parts& b) { return Parts(a.re == b.re && a.im == b.im); }),
      .symbol = "==",
      .commutative = true,
      .spread = spread_of_equality};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& neq_op() {
  static const ScalarOp record{
      .name = "neq",
      .doc =
          "a != b in the promoted dtype.\n"
          "Gradient: none.\n"
          "Edge cases: NaN differs from everything.\n"
          "Example: neq([1, 2], 2) = [1, 0]",
      .arity = 2,
      .signature = promoted_to_bool(kAll),
      .reference = reference2<kAll>([](auto a, auto b) { return a != b; }),
      .code =
          code2<kBools | kReals>([](Term a, Term b) { return is_bool(a.dtype()) ? (a && !b) || (!a && b) : a != b; }),
      .complex_code = complex2([](const Parts& a, const Parts& b) { return Parts(a.re != b.re || a.im != b.im); }),
      .symbol = "!=",
      .commutative = true,
      .spread = spread_of_equality};
  static const Op& op = define_elementwise(record);
  return op;
}

static std::optional<Signature> asked_of_each(std::span<const DType> inputs, const Props&) {
  return Signature{.inputs = {inputs[0]}, .outputs = {DType::kBool}};
}

static double spread_of_question(const double*, const double* e, double) {
  return std::isinf(e[0]) ? std::numeric_limits<double>::infinity() : 0;
}

const Op& isnan_op() {
  static const ScalarOp record{
      .name = "isnan",
      .doc =
          "x is NaN (of complex numbers: a part is).\n"
          "Gradient: none.\n"
          "Edge cases: false for integers and bools.\n"
          "Example: isnan([1, nan]) = [0, 1]",
      .signature = asked_of_each,
      .reference = reference1<kAll>([](auto x) { return x != x; }),
      .code = code1<kBools | kReals>(
          [](Term x) { return is_float(x.dtype()) ? x != x : kernel::constant_int(DType::kBool, 0); }),
      .complex_code = complex1([](const Parts& z) { return Parts(z.re != z.re || z.im != z.im); }),
      .spread = spread_of_question};
  static const Op& op = define_elementwise(record);
  return op;
}

static Term exceeds_largest(const Term& x) {
  if (!is_float(x.dtype())) return kernel::constant_int(DType::kBool, 0);
  const double largest =
      x.dtype() == DType::kFloat32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return kernel::fabs(x) > kernel::constant(x.dtype(), largest);
}

const Op& isinf_op() {
  static const ScalarOp record{
      .name = "isinf",
      .doc =
          "x is inf or -inf (of complex numbers: a part is).\n"
          "Gradient: none.\n"
          "Edge cases: false for integers and bools.\n"
          "Example: isinf([1, inf]) = [0, 1]",
      .signature = asked_of_each,
      .reference = reference1<kAll>([](auto x) {
        using T = decltype(x);
        if constexpr (is_complex_v<T>)
          return std::isinf(x.real()) || std::isinf(x.imag());
        else if constexpr (std::is_floating_point_v<T>)
          return std::isinf(x);
        else
          return false;
      }),
      .code = code1<kBools | kReals>(exceeds_largest),
      .complex_code = complex1([](const Parts& z) { return Parts(exceeds_largest(z.re) || exceeds_largest(z.im)); }),
      .spread = spread_of_question};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr lt(const Operand& a, const Operand& b) {
  return binary(lt_op(), a, b);
}
Expr le(const Operand& a, const Operand& b) {
  return binary(le_op(), a, b);
}
Expr gt(const Operand& a, const Operand& b) {
  return binary(gt_op(), a, b);
}
Expr ge(const Operand& a, const Operand& b) {
  return binary(ge_op(), a, b);
}
Expr eq(const Operand& a, const Operand& b) {
  return binary(eq_op(), a, b);
}
Expr neq(const Operand& a, const Operand& b) {
  return binary(neq_op(), a, b);
}
Expr isnan(const Operand& x) {
  return unary(isnan_op(), x);
}
Expr isinf(const Operand& x) {
  return unary(isinf_op(), x);
}

}  // namespace thtrain
