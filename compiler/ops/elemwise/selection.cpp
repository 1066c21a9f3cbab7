// switch and cast: the two whose inputs are not all of one dtype.
#include "compiler/ir/convert.h"
#include "compiler/ops/elemwise/record_parts.h"

namespace thtrain {

static std::optional<Signature> switch_signature(std::span<const DType> inputs, const Props&) {
  std::optional<DType> common = promote_all(inputs.subspan(1));
  if (!common) return std::nullopt;
  return Signature{.inputs = {DType::kBool, *common, *common}, .outputs = {*common}};
}

static void switch_reference(const Signature& s, std::span<const void* const> in, std::span<void* const> out,
                             int64_t n) {
  visit(s.outputs[0], [&](auto zero) {
    using T = decltype(zero);
    const bool* condition = static_cast<const bool*>(in[0]);
    const T *yes = static_cast<const T*>(in[1]), *no = static_cast<const T*>(in[2]);
    T* y = static_cast<T*>(out[0]);
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? yes[i] : no[i];
  });
}

static std::vector<Term> switch_code(std::span<const Term> in, const Signature& s) {
  if (is_bool(s.outputs[0])) return {(in[0] && in[1]) || (!in[0] && in[2])};
  return {kernel::select(in[0], in[1], in[2])};
}

static std::vector<Parts> switch_parts(std::span<const Parts> in, const Signature&) {
  const Term& yes = in[0].re;
  return {{kernel::select(yes, in[1].re, in[2].re), kernel::select(yes, in[1].im, in[2].im)}};
}

static double switch_spread(const double* x, const double* e, double) {
  if (e[0] == 0) return x[0] != 0 ? e[1] : e[2];
  return std::abs(x[1] - x[2]) + std::max(e[1], e[2]);
}

const Op& switch_op() {
  static const ScalarOp record{
      .name = "switch",
      .doc =
          "yes where the condition is not 0, else no; both are computed.\n"
          "Gradient: to what was chosen; the condition has none.\n"
          "Edge cases: a NaN in what was not chosen changes nothing; NaN as the condition is not 0.\n"
          "Example: switch([1, 0], [1, 2], [3, 4]) = [1, 4]",
      .arity = 3,
      .signature = switch_signature,
      .reference = switch_reference,
      .code = switch_code,
      .complex_code = switch_parts,
      .gradient =
          [](const ScalarGradientArgs& g) {
            return Exprs{{}, switch_(g.x(), g.dout(), 0), switch_(g.x(), 0, g.dout())};
          },
      .spread = switch_spread,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

static std::optional<Signature> cast_signature(std::span<const DType> inputs, const Props& props) {
  DType target = props.get<DType>("dtype");
  if (is_complex(inputs[0]) && !is_complex(target) && !is_bool(target)) return std::nullopt;
  return Signature{.inputs = {inputs[0]}, .outputs = {target}};
}

static void cast_reference(const Signature& s, std::span<const void* const> in, std::span<void* const> out, int64_t n) {
  visit(s.inputs[0], [&](auto from_zero) {
    visit(s.outputs[0], [&](auto to_zero) {
      using From = decltype(from_zero);
      using To = decltype(to_zero);
      const From* x = static_cast<const From*>(in[0]);
      To* y = static_cast<To*>(out[0]);
      for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
    });
  });
}

// A machine's own conversion gives what it likes for numbers that the integer cannot hold: it is asked for others only.
static Term nearest_integer(Term x, DType to) {
  return visit(to, [&](auto zero) -> Term {
    using To = decltype(zero);
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      const auto least = static_cast<double>(std::numeric_limits<To>::min());
      const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);  // the first that is too large
      const int digits = x.dtype() == DType::kFloat32 ? 24 : 53;
      const auto number = [&](double value) { return kernel::constant(x.dtype(), value); };
      if (std::is_signed_v<To>) x = select(x == x, x, number(0));
      const Term bounded = select(x > number(least), x, number(least));  // 0 of NaN, where that is the least
      if (std::numeric_limits<To>::digits <= digits)
        return kernel::cast(select(bounded < number(above - 1), bounded, number(above - 1)), to);
      const double below = above - std::ldexp(1.0, std::numeric_limits<To>::digits - digits);
      return select(bounded < number(above), kernel::cast(select(bounded < number(above), bounded, number(below)), to),
                    kernel::constant_int(to, static_cast<int64_t>(std::numeric_limits<To>::max())));
    } else {
      return x;
    }
  });
}

static std::vector<Term> cast_code(std::span<const Term> in, const Signature& s) {
  if (is_float(s.inputs[0]) && is_int(s.outputs[0])) return {nearest_integer(in[0], s.outputs[0])};
  return {kernel::cast(in[0], s.outputs[0])};
}

// The same length, unless the conversion could change it.
static std::optional<Dim> cast_symbolic(const Node& node, std::span<const Dim> v) {
  DType from = node.inputs[0].dtype(), to = node.types[0].dtype;
  if (!is_int(to)) return std::nullopt;
  bool widens = is_bool(from) || size_of(to) > size_of(from) || (size_of(to) == size_of(from) && is_signed_int(to));
  if (!widens && !(v[0].is_known() && Tensor(v[0].value()).cast(to).as_int() == v[0].value())) return std::nullopt;
  return v[0];
}

const Op& cast_op() {
  static const ScalarOp record{
      .name = "cast",
      .doc =
          "x as another dtype: a float loses its fraction as an integer, and is the nearest one where the dtype cannot "
          "hold it; an integer wraps around; to bool is x != 0.\n"
          "dtypes: any to any; complex numbers become complex or bool only: real(x) or abs(x) say what is meant.\n"
          "Gradient: d/dx = 1 between floats; integers have none.\n"
          "Edge cases: NaN is 0 as an integer, true as bool.\n"
          "Example: 1.7 as an integer: 1",
      .signature = cast_signature,
      .reference = cast_reference,
      .code = cast_code,
      .complex_code = [](std::span<const Parts> in,
                         const Signature& s) { return std::vector<Parts>{converted(in[0], s.outputs[0])}; },
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout()}; },  // takes x's dtype as every gradient
      .hint = "real(z), imag(z) or abs(z) says which part is meant",
      .symbolic = cast_symbolic,
      .low = 0,  // no integer type is too small
      .high = 3,
      .rounding = Rounding::kConverts};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr switch_(const Operand& condition, const Operand& yes, const Operand& no) {
  std::vector<Expr> values = resolve({&yes, &no});
  return elementwise(switch_op(), {condition.expr(), values[0], values[1]}, {}, condition.where());
}

Expr where(const Operand& condition, const Operand& yes, const Operand& no) {
  return switch_(condition, yes, no);
}

Expr cast(const Operand& x, DType dtype) {
  Expr value = x.expr();
  return value.dtype() == dtype ? value : elementwise(cast_op(), {value}, {{"dtype", dtype}}, x.where());
}

}  // namespace thtrain
