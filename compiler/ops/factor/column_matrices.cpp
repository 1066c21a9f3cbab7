#include "compiler/ops/factor/column_matrices.h"

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

Parts load_number(StepBuilder& b, const kernel::Operand& from, const Term& index) {
  if (!is_complex(from.type.dtype)) return b.code().let("x", b.load(from, index));
  const kernel::Operand parts = parts_of(from);
  const Term re = b.code().let("re", b.load(parts, index * Term(2)));
  return {re, b.code().let("im", b.load(parts, index * Term(2) + Term(1)))};
}

void store_number(StepBuilder& b, const kernel::Operand& to, const Term& index, const Parts& value) {
  if (!is_complex(to.type.dtype)) return b.store(to, index, value.re);
  const kernel::Operand parts = parts_of(to);
  const Term at = b.code().let("at", index * Term(2));
  b.store(parts, at, value.re);
  b.store(parts, at + Term(1), value.im);
}

Term modulus(kernel::Code& code, const Parts& x, DType real) {
  const Term re = code.let("size", kernel::fabs(x.re));
  if (!x.is_complex()) return re;
  const Term im = code.let("other", kernel::fabs(x.im)), one = kernel::constant(real, 1);
  const Term larger = code.let("larger", kernel::select(re < im, im, re)),
             divisor = code.let("divisor", kernel::select(larger == kernel::constant(real, 0), one, larger)),
             ratio = code.let("ratio", kernel::select(re < im, re, im) / divisor);
  return code.let("modulus", larger * kernel::sqrt(fma(ratio, ratio, one)));
}

Parts sign_of(kernel::Code& code, const Parts& x, const Term& modulus, DType real) {
  const Term zero = kernel::constant(real, 0), one = kernel::constant(real, 1);
  if (!x.is_complex()) return code.let("sign", kernel::select(x.re < zero, -one, one));
  const Term divisor = code.let("divisor", kernel::select(modulus == zero, one, modulus));
  return {code.let("sign_re", kernel::select(modulus == zero, one, x.re / divisor)),
          code.let("sign_im", kernel::select(modulus == zero, zero, x.im / divisor))};
}

Parts times(const Parts& x, const Parts& y, bool conjugates) {
  if (!x.is_complex()) return x.re * y.re;
  const Term im = conjugates ? -y.im : y.im;
  return {x.re * y.re - x.im * im, x.re * im + x.im * y.re};
}

void transpose_matrices(StepBuilder& b, int64_t count, int64_t rows, int64_t columns, const kernel::Operand& from,
                        const kernel::Operand& to, const char* comment) {
  const bool has_parts = is_complex(from.type.dtype);
  const int64_t parts = has_parts ? 2 : 1, matrix = parts * rows * columns;
  Dims dims{count, rows, columns}, straight{matrix, parts * columns, parts}, across{matrix, parts, parts * rows};
  if (has_parts)
    for (Dims* of : {&dims, &straight, &across}) of->emplace_back(of == &dims ? 2 : 1);
  kernel::Nest nest(dims);
  nest.store({parts_of(to), across}, nest.load("x", {parts_of(from), straight}));
  kernel::schedule(b, nest, "transpose_matrices", comment);
}

}  // namespace thtrain
