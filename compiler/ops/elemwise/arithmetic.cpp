// Arithmetic, but for what divides with a remainder (division.cpp) and powers (exponential.cpp).
#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

const Op& add_op() {
  static const ScalarOp record{
      .name = "add",
      .doc =
          "a + b; of bools: a or b.\n"
          "Gradient: d/da = 1, d/db = 1.\n"
          "Edge cases: integers wrap around.\n"
          "Example: add([1, 2], 3) = [4, 5]",
      .arity = 2,
      .signature = same_as_promoted(kAll),
      .reference = reference2<kAll>([](auto a, auto b) { return wrapping_add(a, b); }),
      .code = code2<kBools | kReals>([](Term a, Term b) { return is_bool(a.dtype()) ? a || b : a + b; }),
      .complex_code = complex2([](const Parts& a, const Parts& b) { return a + b; }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            return Exprs{g.dout(), g.dout()};
          },
      .symbol = "+",
      .commutative = true,
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return v[0] + v[1]; },
      .spread = spread_sum,
      .spreads_moduli = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& sub_op() {
  static const ScalarOp record{
      .name = "sub",
      .doc =
          "a - b; bools count as int64.\n"
          "Gradient: d/da = 1, d/db = -1.\n"
          "Edge cases: integers wrap around.\n"
          "Example: sub([1, 2], 3) = [-2, -1]",
      .arity = 2,
      .signature = same_as_promoted(kNumbers),
      .reference = reference2<kNumbers>([](auto a, auto b) { return wrapping_sub(a, b); }),
      .code = code2<kReals>([](Term a, Term b) { return a - b; }),
      .complex_code = complex2([](const Parts& a, const Parts& b) { return a - b; }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            return Exprs{g.dout(), neg(g.dout())};
          },
      .symbol = "-",
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return v[0] - v[1]; },
      .spread = spread_sum,
      .spreads_moduli = true};
  static const Op& op = define_elementwise(record);
  return op;
}

// A column or a row as the vector that it shows.
static Expr as_vector(const Expr& e, int64_t axis) {
  const Ints* order = axis_order_of(e.node());
  return order && e.node().inputs[0].rank() == 1 ? e.node().inputs[0] : dimshuffle(e, {axis});
}

// x y^T of two vectors: expand_dims(x, 1) * expand_dims(y, 0).
static bool is_outer_product(const Node& node) {
  auto is_vector = [](const Expr& e, const Ints& order) {
    const Ints* given = axis_order_of(e.node());
    return given && *given == order;
  };
  return node.types[0].rank() == 2 && is_vector(node.inputs[0], {0, -1}) && is_vector(node.inputs[1], {-1, 0});
}

static constexpr Accumulation kOuterProduct{
    is_outer_product,
    [](const Node&, std::span<const Expr> factors, const Expr& y, const Expr& alpha, const Expr& beta) {
      const Expr target = constant_number(beta) == 1.0 ? y : beta * y;
      return apply(ger_op(), {target, alpha, as_vector(factors[0], 0), as_vector(factors[1], 1)});
    }};

// The sum over the iterations of the products of a column [m, 1] and a row [1, n] is one product of matrices.
static constexpr IterationsRule kSumOfOuterProducts{
    .summed =
        [](const Node& node) {
          for (size_t first : {size_t{0}, size_t{1}}) {
            const Expr &x = node.inputs[first], &y = node.inputs[1 - first];
            if (node.types[0].rank() == 2 && x.dtype() == y.dtype() && x.rank() == 2 && x.dims()[1].is(1) &&
                y.rank() == 2 && y.dims()[0].is(1))
              return Exprs{as_vector(x, 0), as_vector(y, 1)};
          }
          return Exprs{};
        },
    .sum = [](const Dim&, std::span<const Expr> summed) { return dot(transpose(summed[0]), summed[1]); }};

const Op& mul_op() {
  static const ScalarOp record{
      .name = "mul",
      .doc =
          "a * b; of bools: a and b.\n"
          "Gradient: d/da = b, d/db = a.\n"
          "Edge cases: integers wrap around. Of complex numbers (a + ib)(c + id) is (ac - bd) + i(ad + bc), so that a "
          "part may be NaN where another one is infinite.\n"
          "Example: mul([1, 2], 3) = [3, 6]",
      .arity = 2,
      .signature = same_as_promoted(kAll),
      .reference = reference2<kAll>([](auto a, auto b) { return wrapping_mul(a, b); }),
      .code = code2<kBools | kReals>([](Term a, Term b) { return is_bool(a.dtype()) ? a && b : a * b; }),
      .complex_code = complex2([](const Parts& a, const Parts& b) { return a * b; }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            return Exprs{g.dout() * g.y(), g.dout() * g.x()};
          },
      .symbol = "*",
      .commutative = true,
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return v[0] * v[1]; },
      .accumulation = &kOuterProduct,
      .iterations = &kSumOfOuterProducts,
      .complex_ulps = 1,  // g++ 12 may contract a c - b d next to a d + b c, whatever -ffp-contract says
      .spread =
          [](const double* x, const double* e, double) {
            double out = e[0] * e[1];
            if (e[1] > 0) out += std::abs(x[0]) * e[1];
            if (e[0] > 0) out += std::abs(x[1]) * e[0];
            return out;
          },
      .spreads_moduli = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& true_div_op() {
  static const ScalarOp record{.name = "true_div",
                               .doc =
                                   "a / b; integers and bools give floatX.\n"
                                   "Gradient: d/da = 1/b, d/db = -a/b^2.\n"
                                   "Edge cases: x / 0 is an infinity, 0 / 0 is NaN (IEEE 754).\n"
                                   "Example: true_div([1, 2], 4) = [0.25, 0.5]",
                               .arity = 2,
                               .signature = floats_to_same(),
                               .reference = reference2<kFloats | kComplexes>([](auto a, auto b) { return a / b; }),
                               .code = code2<kFloats>([](Term a, Term b) { return a / b; }),
                               .complex_code = complex2(complex_quotient),
                               .gradient =
                                   [](const ScalarGradientArgs& g) {
                                     Expr da = g.dout() / g.y();
                                     return Exprs{da, neg(da * g.out())};
                                   },
                               .symbol = "/",
                               .singular_in = 1,
                               .low = 0.5,
                               .high = 3,
                               .complex_ulps = 4,
                               .spread =
                                   [](const double* x, const double* e, double y) {
                                     if (e[0] == 0 && e[1] == 0) return 0.0;
                                     if (std::abs(x[1]) <= e[1]) return std::numeric_limits<double>::infinity();
                                     return (e[0] + (e[1] > 0 ? std::abs(y) * e[1] : 0)) / (std::abs(x[1]) - e[1]);
                                   }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& neg_op() {
  static const ScalarOp record{
      .name = "neg",
      .doc =
          "-x; bools count as int64.\n"
          "Gradient: d/dx = -1.\n"
          "Edge cases: integers wrap around: the smallest one is its own negative.\n"
          "Example: neg([1, -2]) = [-1, 2]",
      .signature = same_as_promoted(kNumbers),
      .reference = reference1<kNumbers>([](auto x) {
        if constexpr (std::is_integral_v<decltype(x)>)
          return wrapping_sub(decltype(x)(0), x);
        else
          return -x;
      }),
      .code = code1<kReals>([](Term x) { return -x; }),
      .complex_code = complex1([](const Parts& x) { return -x; }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{neg(g.dout())}; },
      .symbol = "-",
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return Dim(0) - v[0]; },
      .spread = spread_same,
      .spreads_moduli = true,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& sqr_op() {
  static const ScalarOp record{
      .name = "sqr",
      .doc =
          "x * x; bools count as int64.\n"
          "Gradient: d/dx = 2 x.\n"
          "Edge cases: integers wrap around.\n"
          "Example: sqr([1, -3]) = [1, 9]",
      .signature = same_as_promoted(kNumbers),
      .reference = reference1<kNumbers>([](auto x) { return wrapping_mul(x, x); }),
      .code = code1<kReals>([](Term x) { return x * x; }),
      .complex_code = complex1([](const Parts& x) { return x * x; }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (g.x() * 2)}; },
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return v[0] * v[0]; },
      .complex_ulps = 1,  // as of mul
      .spread = [](const double* x, const double* e,
                   double) { return e[0] > 0 ? 2 * std::abs(x[0]) * e[0] + e[0] * e[0] : 0; },
      .spreads_moduli = true};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& sqrt_op() {
  static const ScalarOp record{
      .name = "sqrt",
      .doc =
          "The square root, correctly rounded of real numbers.\n"
          "Gradient: d/dx = 1 / (2 sqrt(x)).\n"
          "Edge cases: of -0: -0, of a negative real number: NaN. The derivative at 0 is inf.\n"
          "Example: sqrt([4, 9]) = [2, 3]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return std::sqrt(x); }),
      .code = code1<kFloats>([](Term x) { return kernel::sqrt(x); }),
      .complex_code = complex1(complex_sqrt),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() / (g.out() * 2)}; },
      .singular_in = 0,
      .low = 0.2,
      .high = 4,
      .edge_cases = {4, 2, -1},
      .complex_ulps = 4,
      .spread = [](const double* x, const double* e,
                   double) { return x[0] > e[0] ? e[0] / std::sqrt(x[0] - e[0]) : std::sqrt(2 * e[0]); }};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& reciprocal_op() {
  static const ScalarOp record{
      .name = "reciprocal",
      .doc =
          "1 / x; integers and bools give floatX.\n"
          "Gradient: d/dx = -1/x^2.\n"
          "Edge cases: of 0: inf, of -0: -inf.\n"
          "Example: reciprocal([2, 4]) = [0.5, 0.25]",
      .signature = floats_to_same(),
      .reference = reference1<kFloats | kComplexes>([](auto x) { return decltype(x)(1) / x; }),
      .code = code1<kFloats>([](Term x) { return 1 / x; }),
      .complex_code = complex1([](const Parts& x) {
        return complex_quotient({kernel::constant(x.re.dtype(), 1), kernel::constant(x.re.dtype(), 0)}, x);
      }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{neg(g.dout() * sqr(g.out()))}; },
      .singular_in = 0,
      .low = 0.4,
      .high = 3,
      .complex_ulps = 4,
      .spread = [](const double* x, const double* e, double y) { return std::abs(y) * relative_error(x[0], e[0], 0); }};
  static const Op& op = define_elementwise(record);
  return op;
}

static std::optional<Signature> abs_signature(std::span<const DType> inputs, const Props&) {
  return Signature{.inputs = {inputs[0]}, .outputs = {real_dtype(inputs[0])}};
}

const Op& abs_op() {
  static const ScalarOp record{
      .name = "abs",
      .doc =
          "|x|; of complex numbers the real modulus.\n"
          "Gradient: d/dx = sign(x), conj(x)/|x| for complex numbers, and 0 at 0.\n"
          "Edge cases: the smallest integer wraps around to itself.\n"
          "Example: abs([-2, 3]) = [2, 3]",
      .signature = abs_signature,
      .reference = reference1<kAll>([](auto x) {
        using T = decltype(x);
        if constexpr (std::is_unsigned_v<T>)
          return x;
        else if constexpr (std::is_integral_v<T>)
          return x < 0 ? wrapping_sub(T(0), x) : x;
        else
          return std::abs(x);
      }),
      .code = code1<kBools | kReals>([](Term x) {
        if (is_float(x.dtype())) return kernel::fabs(x);
        return is_signed_int(x.dtype()) ? kernel::select(x < 0, -x, x) : x;
      }),
      .complex_code = complex1(complex_abs),
      .gradient =
          [](const ScalarGradientArgs& g) {
            if (!is_complex(g.x().dtype())) return Exprs{g.dout() * sign(g.x())};
            return Exprs{conj(g.x()) * (g.dout() / switch_(eq(g.out(), 0), 1, g.out()))};
          },
      .symbolic = [](const Node&, std::span<const Dim> v) -> std::optional<Dim> { return max(v[0], 0 - v[0]); },
      .complex_ulps = 2,
      .spread = spread_same,
      .spreads_moduli = true,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& sign_op() {
  static const ScalarOp record{
      .name = "sign",
      .doc =
          "-1, 0 or 1, as x is negative, zero or positive; bools count as int64.\n"
          "Gradient: 0.\n"
          "Edge cases: of -0: 0, of NaN: NaN.\n"
          "Example: sign([-2, 0, 3]) = [-1, 0, 1]",
      .signature = same_as_promoted(kReals),
      .reference = reference1<kReals>([](auto x) {
        using T = decltype(x);
        if constexpr (std::is_unsigned_v<T>)
          return x > 0 ? T(1) : T(0);
        else
          return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
      }),
      .code = code1<kReals>([](Term x) {
        DType dtype = x.dtype();
        Term zero = kernel::constant_int(dtype, 0), one = kernel::constant_int(dtype, 1);
        if (is_unsigned_int(dtype)) return kernel::select(x > zero, one, zero);
        Term rest = is_float(dtype) ? kernel::select(x == zero, zero, x) : zero;
        return kernel::select(x > zero, one, kernel::select(x < zero, kernel::constant_int(dtype, -1), rest));
      }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{zeros_like(g.dout())}; },
      .spread = [](const double* x, const double* e, double) { return std::abs(x[0]) > e[0] || e[0] == 0 ? 0.0 : 2.0; },
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr add(const Operand& a, const Operand& b) {
  return binary(add_op(), a, b);
}
Expr sub(const Operand& a, const Operand& b) {
  return binary(sub_op(), a, b);
}
Expr mul(const Operand& a, const Operand& b) {
  return binary(mul_op(), a, b);
}
Expr true_div(const Operand& a, const Operand& b) {
  return binary(true_div_op(), a, b);
}
Expr neg(const Operand& x) {
  return unary(neg_op(), x);
}
Expr sqr(const Operand& x) {
  return unary(sqr_op(), x);
}
Expr sqrt(const Operand& x) {
  return unary(sqrt_op(), x);
}
Expr reciprocal(const Operand& x) {
  return unary(reciprocal_op(), x);
}
Expr abs(const Operand& x) {
  return unary(abs_op(), x);
}
Expr sign(const Operand& x) {
  if (!is_complex(x.expr().dtype())) return unary(sign_op(), x);
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const Expr size = abs(x);
  return x / switch_(eq(size, 0), 1, size);
}

}  // namespace thtrain
