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

static std::optional<Signature> complex_of_parts(std::span<const DType> inputs, const Props& props) {
  std::optional<Signature> out = floats_to_same(kFloats)(inputs, props);
  if (out) out->outputs = {out->inputs[0] == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128};
  return out;
}

const Op& complex_op() {
  static const ScalarOp record{
      .name = "complex",
      .doc =
          "The complex number of a real and an imaginary part.\n"
          "Gradient: the cotangent of the real part is the real part of the result's, that of the imaginary part the "
          "negative imaginary one.\n"
          "Edge cases: none: infinities and NaN stay in their part.\n"
          "Example: of 3 and 4: 3 + 4i",
      .arity = 2,
      .signature = complex_of_parts,
      .reference = reference2<kFloats>([](auto re, auto im) { return std::complex(re, im); }),
      .complex_code = complex2([](const Parts& re, const Parts& im) { return Parts(re.re, im.re); }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            // Forward mode gives a real tangent instead of a cotangent.
            if (!is_complex(g.dout().dtype())) return Exprs{g.dout(), complex(0, g.dout())};
            return Exprs{real(g.dout()), neg(imag(g.dout()))};
          },
      .spread = [](const double*, const double* e, double) { return std::hypot(e[0], e[1]); },
      .rounding = Rounding::kExact};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr complex(const Operand& re, const Operand& im) {
  return binary(complex_op(), re, im);
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
