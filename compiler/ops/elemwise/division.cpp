// Division with a remainder: the quotient is rounded towards minus infinity, the remainder takes the divisor's sign.
#include <tuple>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// a == quotient * b + remainder. Integers: both are 0 for b == 0, and the quotient wraps around. Floats: the remainder
// is exact but for one rounding, the quotient is the integer next to the true one; for b == 0 they are a / b and NaN.
template <class T>
std::pair<T, T> divide(T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    if (b == 0) return {0, 0};
    return {static_cast<T>(a / b), static_cast<T>(a % b)};
  } else if constexpr (std::is_integral_v<T>) {
    if (b == 0) return {0, 0};
    if (b == -1) return {wrapping_sub(T(0), a), 0};
    T quotient = static_cast<T>(a / b), remainder = static_cast<T>(a % b);
    if (remainder == 0 || (remainder < 0) == (b < 0)) return {quotient, remainder};
    return {static_cast<T>(quotient - 1), static_cast<T>(remainder + b)};
  } else {
    T remainder = std::fmod(a, b);
    if (b == 0) return {a / b, remainder};
    T quotient = (a - remainder) / b;
    if (remainder == 0) {
      remainder = std::copysign(T(0), b);
    } else if ((remainder < 0) != (b < 0)) {
      remainder += b;
      quotient -= 1;
    }
    if (quotient == 0) return {std::copysign(T(0), a / b), remainder};
    T whole = std::floor(quotient);  // the subtraction and the division were rounded
    if (quotient - whole > T(0.5)) whole += 1;
    return {whole, remainder};
  }
}

// In the loop language every lane is computed, so what must not be divided by is replaced first.
Term safe_divisor(const Term& b) {
  Term one = kernel::constant_int(b.dtype(), 1);
  return kernel::select(is_signed_int(b.dtype()) ? b == 0 || b == -1 : b == 0, one, b);
}

// Is a remainder that C's division left on the other side of 0 than the divisor?
Term signs_differ(const Term& remainder, const Term& b) {
  return remainder != 0 && (remainder ^ b) < 0;
}
Term float_signs_differ(const Term& remainder, const Term& b) {
  return remainder != 0 && (remainder < 0) != (b < 0);
}

Term remainder_code(const Term& a, const Term& b) {
  DType dtype = b.dtype();
  if (is_float(dtype)) {
    Term remainder = kernel::math("fmod", {a, b});
    Term zero = kernel::select(b < 0, kernel::constant(dtype, -0.0), kernel::constant(dtype, 0));
    return kernel::select(remainder == 0, zero,
                          kernel::select(float_signs_differ(remainder, b), remainder + b, remainder));
  }
  Term remainder = a % safe_divisor(b);  // 0 for the divisors 0, 1 and -1
  return is_signed_int(dtype) ? kernel::select(signs_differ(remainder, b), remainder + b, remainder) : remainder;
}

Term quotient_code(const Term& a, const Term& b) {
  DType dtype = b.dtype();
  Term zero = kernel::constant_int(dtype, 0), one = kernel::constant_int(dtype, 1);
  if (is_float(dtype)) {
    Term remainder = kernel::math("fmod", {a, b}), plain = a / b;
    Term quotient = (a - remainder) / b - kernel::select(float_signs_differ(remainder, b), one, zero);
    Term whole = kernel::floor(quotient);
    Term nearest = whole + kernel::select(quotient - whole > kernel::constant(dtype, 0.5), one, zero);
    Term signed_zero = kernel::select(plain < 0, kernel::constant(dtype, -0.0), kernel::select(plain > 0, zero, plain));
    return kernel::select(b == 0, plain, kernel::select(quotient == 0, signed_zero, nearest));
  }
  Term quotient = a / safe_divisor(b);
  if (!is_signed_int(dtype)) return kernel::select(b == 0, zero, quotient);
  Term rounded = quotient - kernel::select(signs_differ(a - quotient * b, b), one, zero);
  return kernel::select(b == 0, zero, kernel::select(b == -1, -a, rounded));
}

void divmod_reference(const Signature& s, std::span<const void* const> in, std::span<void* const> out, int64_t n) {
  visit(s.inputs[0], [&](auto zero) {
    using T = decltype(zero);
    if constexpr (accepts<kReals, T>()) {
      const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
      for (int64_t i = 0; i < n; ++i)
        std::tie(static_cast<T*>(out[0])[i], static_cast<T*>(out[1])[i]) = divide(a[i], b[i]);
    }
  });
}

std::optional<Signature> divmod_signature(std::span<const DType> inputs, const Props& props) {
  std::optional<Signature> signature = same_as_promoted(kReals)(inputs, props);
  if (signature) signature->outputs.push_back(signature->outputs[0]);
  return signature;
}

bool is_nonzero(const Dim& length) {
  return length.is_known() && !length.is(0);
}

}  // namespace

const Op& floor_div_op() {
  static const ScalarOp record{.name = "floor_div",
                               .doc =
                                   "The integer next below a / b, in the promoted dtype; bools count as int64.\n"
                                   "Gradient: 0.\n"
                                   "Edge cases: x // 0 is 0 for integers, an infinity or NaN for floats.\n"
                                   "Example: floor_div([7, -7], 2) = [3, -4]",
                               .arity = 2,
                               .signature = same_as_promoted(kReals),
                               .reference = reference2<kReals>([](auto a, auto b) { return divide(a, b).first; }),
                               .code = code2<kReals>(quotient_code),
                               .gradient =
                                   [](const ScalarGradientArgs& g) {
                                     return Exprs{zeros_like(g.dout()), zeros_like(g.dout())};
                                   },
                               .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> {
                                 if (!is_nonzero(v[1])) return std::nullopt;
                                 return floor_div(v[0], v[1]);
                               },
                               .edge_cases = {0.1, 3, -3, 7, -7, 1e10},
                               .smooth = false,
                               .spread =
                                   [](const double* x, const double* e, double y) {
                                     if (e[0] == 0 && e[1] == 0) return 0.0;
                                     if (std::abs(x[1]) <= e[1]) return std::numeric_limits<double>::infinity();
                                     return (e[0] + (std::abs(y) + 1) * e[1]) / (std::abs(x[1]) - e[1]) + 1;
                                   },
                               .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& mod_op() {
  static const ScalarOp record{
      .name = "mod",
      .doc =
          "a - floor(a / b) * b, with the sign of b, as Python's %; bools count as int64.\n"
          "Gradient: d/da = 1, d/db = -(a // b).\n"
          "Edge cases: x % 0 is 0 for integers, NaN for floats.\n"
          "Example: mod([7, -7], 2) = [1, 1]",
      .arity = 2,
      .signature = same_as_promoted(kReals),
      .reference = reference2<kReals>([](auto a, auto b) { return divide(a, b).second; }),
      .code = code2<kReals>(remainder_code),
      .gradient =
          [](const ScalarGradientArgs& g) {
            return Exprs{g.dout(), neg(g.dout() * floor_div(g.x(), g.y()))};
          },
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> {
        if (!is_nonzero(v[1])) return std::nullopt;
        return v[0] - floor_div(v[0], v[1]) * v[1];
      },
      .low = 0.4,
      .high = 3,
      .edge_cases = {0.1, 3, -3, 7, -7, 1e10},
      .smooth = false,
      .spread =
          [](const double* x, const double* e, double y) {
            if (e[0] == 0 && e[1] == 0) return 0.0;
            const double moved = e[0] + (e[1] > 0 ? std::abs(std::floor(x[0] / x[1])) * e[1] : 0);
            const bool crosses = std::abs(y) <= moved || std::abs(x[1]) - std::abs(y) <= moved + e[1];
            return crosses ? std::numeric_limits<double>::infinity() : moved;
          }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& divmod_op() {
  static const ScalarOp record{
      .name = "divmod",
      .doc =
          "floor_div(a, b) and mod(a, b) at once.\n"
          "Gradient: those of the two: 0 of the quotient; d/da = 1, d/db = -(a // b) of the remainder.\n"
          "Edge cases: as of floor_div and mod.\n"
          "Example: of 7 and 2: 3 and 1",
      .arity = 2,
      .outputs = 2,
      .signature = divmod_signature,
      .reference = divmod_reference,
      .code =
          [](std::span<const Term> in, const Signature&) {
            return std::vector<Term>{quotient_code(in[0], in[1]), remainder_code(in[0], in[1])};
          },
      .gradient =
          [](const ScalarGradientArgs& g) {
            const Expr& dmod = g.cotangents[1];
            if (!dmod.has_value()) return Exprs{zeros_like(g.dout()), zeros_like(g.dout())};
            return Exprs{dmod, neg(dmod * g.out())};
          },
      .edge_cases = {0.1, 3, -3, 7, -7, 1e10},
      .smooth = false};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr floor_div(const Operand& a, const Operand& b) {
  return binary(floor_div_op(), a, b);
}
Expr mod(const Operand& a, const Operand& b) {
  return binary(mod_op(), a, b);
}
std::pair<Expr, Expr> divmod(const Operand& a, const Operand& b) {
  Expr quotient = binary(divmod_op(), a, b);
  return {quotient, Expr(quotient.node_ptr(), 1)};
}

}  // namespace thtrain
