// Parts of complex numbers.
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static std::optional<Signature> part_of_complex(std::span<const DType> inputs, const Props&) {
  if (!is_complex(inputs[0])) return std::nullopt;
  return Signature{.inputs = {inputs[0]}, .outputs = {real_dtype(inputs[0])}};
}

static Expr imaginary_unit(DType dtype) {
  return make_constant(Tensor(std::complex<double>(0, 1)).cast(dtype));
}

const Op& real_op() {
  static const ScalarOp record{
      .name = "real",
      .doc =
          "The real part of a complex number.\n"
          "Gradient: the cotangent of z is that of the real part.\n"
          "Edge cases: none.\n"
          "Example: of 3 + 4i: 3",
      .signature = part_of_complex,
      .reference = reference1<kComplexes>([](auto z) { return z.real(); }),
      .complex_code = complex1([](const Parts& z) { return Parts(z.re); }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{cast(g.dout(), g.x().dtype())}; },
      .spread = spread_same,
      .spreads_moduli = true,
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& imag_op() {
  static const ScalarOp record{.name = "imag",
                               .doc =
                                   "The imaginary part of a complex number.\n"
                                   "Gradient: the cotangent of z is -i times that of the imaginary part.\n"
                                   "Edge cases: none.\n"
                                   "Example: of 3 + 4i: 4",
                               .signature = part_of_complex,
                               .reference = reference1<kComplexes>([](auto z) { return z.imag(); }),
                               .complex_code = complex1([](const Parts& z) { return Parts(z.im); }),
                               .gradient =
                                   [](const ScalarGradientArgs& g) {
                                     DType dtype = g.x().dtype();
                                     return Exprs{neg(cast(g.dout(), dtype) * imaginary_unit(dtype))};
                                   },
                               .spread = spread_same,
                               .spreads_moduli = true,
                               .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& conj_op() {
  static const ScalarOp record{.name = "conj",
                               .doc =
                                   "The complex conjugate.\n"
                                   "Gradient: the cotangent of z is the conjugate of the result's.\n"
                                   "Edge cases: none.\n"
                                   "Example: of 3 + 4i: 3 - 4i",
                               .signature = same_as_promoted(kComplexes),
                               .reference = reference1<kComplexes>([](auto z) { return std::conj(z); }),
                               .complex_code = complex1([](const Parts& z) { return Parts(z.re, -z.im); }),
                               .gradient = [](const ScalarGradientArgs& g) { return Exprs{conj(g.dout())}; },
                               .spread = spread_same,
                               .spreads_moduli = true,
                               .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

// Of a real value: itself, 0, itself.
Expr real(const Operand& x) {
  Expr value = x.expr();
  return is_complex(value.dtype()) ? unary(real_op(), x) : value;
}
Expr imag(const Operand& x) {
  Expr value = x.expr();
  return is_complex(value.dtype()) ? unary(imag_op(), x) : zeros_like(Operand(value, x.where()));
}
Expr conj(const Operand& x) {
  Expr value = x.expr();
  return is_complex(value.dtype()) ? unary(conj_op(), x) : value;
}

}  // namespace thtrain
