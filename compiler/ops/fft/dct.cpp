// Cosine transforms by those of real numbers: J. Makhoul, A Fast Cosine Transform in One and Two Dimensions, 1980.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// e^(-pi i k / 2 n) for k = 0 ... n / 2, as a constant.
Expr quarter_roots(int64_t n, DType dtype) {
  Tensor out = Tensor::zeros(DType::kComplex128, {n / 2 + 1});
  for (int64_t k = 0; k <= n / 2; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(2 * n);
    out.data<std::complex<double>>()[k] = {std::cos(angle), -std::sin(angle)};
  }
  return make_constant(out.cast(dtype == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128));
}

Expr part(const Expr& x, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  Slice slice;
  if (start) slice.start = *start;
  if (stop) slice.stop = *stop;
  slice.step = step;
  return subtensor(x, {Ellipsis{}, slice});
}

// The factors between plain results and those of the norm `ortho`: `first`, and sqrt(1 / 2 n) for the others.
Expr ortho_factors(int64_t n, double first, DType dtype) {
  Tensor out = Tensor::zeros(DType::kFloat64, {n});
  for (int64_t k = 0; k < n; ++k) out.data<double>()[k] = k == 0 ? first : std::sqrt(0.5 / static_cast<double>(n));
  return make_constant(out.cast(dtype));
}

// 2 sum of x[j] cos(pi k (2 j + 1) / 2 n): of the even elements and the odd ones backwards, v, it is 2 Re(e^(-pi i k /
// 2 n) V[k]); and with k and n - k the real and the negative imaginary part of one number.
Expr second_type(const Expr& x, int64_t n) {
  const Expr even = part(x, {}, {}, 2);
  const Expr v = n > 1 ? concatenate({even, flip(part(x, 1, {}, 2), {-1})}, -1) : even;
  const Expr turned = rfft(v) * quarter_roots(n, x.dtype());
  const Expr first = real(turned);
  if (n < 3) return first * 2.0;
  // k = n / 2 + 1 ... n - 1 are of n - k = (n - 1) / 2 ... 1.
  return concatenate({first, flip(-imag(part(turned, 1, (n + 1) / 2, 1)), {-1})}, -1) * 2.0;
}

// x[0] + 2 sum of x[k] cos(pi k (2 j + 1) / 2 n): 2 n times the inverse of the one above.
Expr third_type(const Expr& x, int64_t n) {
  if (n == 1) return x;
  const Expr first = part(x, {}, n / 2 + 1, 1);
  // x[n - k] for k = 0 ... n / 2, where x[n] is 0.
  const Expr zero = zeros_like(part(x, 0, 1, 1)), last = concatenate({zero, flip(part(x, n - n / 2, {}, 1), {-1})}, -1);
  const Expr v = irfft(conj(quarter_roots(n, x.dtype())) * complex(first, -last), n, -1, FftNorm::kForward);
  // Back to their places: element 2 j is v[j], element 2 j + 1 is v[n - 1 - j].
  Tensor places = Tensor::zeros(DType::kInt64, {n});
  for (int64_t j = 0; j < n; ++j) places.data<int64_t>()[j] = j % 2 == 0 ? j / 2 : n - 1 - j / 2;
  return take(v, make_constant(places), -1);
}

Expr cosine_transform(const Operand& operand, int64_t type, const std::optional<Length>& n, int64_t axis, FftNorm norm,
                      bool inverse, const char* builder) {
  Expr x = operand.expr();
  const std::source_location where = operand.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  if (type != 2 && type != 3) fail_build(where, str(builder, ": type ", type), "type 2 or 3", value_text(x));
  if (is_complex(x.dtype()))
    fail_build(where, str(builder, ": the values are complex"), "real numbers", value_text(x),
               "of the real and of the imaginary part apart");
  if (!is_float(x.dtype())) x = cast(x, floatX());
  const size_t at = axis_of(axis, x, builder, where);
  x = moveaxis(x, static_cast<int64_t>(at), -1);
  const Dim length = n ? n->dim() : x.dims().back();
  if (!length.is_known() || length.value() < 1 || !x.dims().back().is_known())
    fail_build(where, str(builder, ": a transform of ", length.text(), " elements"), "a known length, at least 1",
               value_text(x));
  const int64_t count = length.value(), has = x.dims().back().value();
  if (count < has) x = part(x, {}, count, 1);
  if (count > has) x = pad(x, {{0, count - has}});
  const bool is_second = (type == 2) != inverse, is_ortho = norm == FftNorm::kOrtho;
  const double root = std::sqrt(1 / static_cast<double>(count));
  if (is_ortho && !is_second) x = x * ortho_factors(count, root, x.dtype());
  Expr out = is_second ? second_type(x, count) : third_type(x, count);
  if (is_ortho && is_second) out = out * ortho_factors(count, root / 2, x.dtype());
  if (!is_ortho && (norm == FftNorm::kForward) != inverse) out = out * (1.0 / static_cast<double>(2 * count));
  return moveaxis(out, -1, static_cast<int64_t>(at));
}

}  // namespace

Expr dct(const Operand& x, int64_t type, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return cosine_transform(x, type, n, axis, norm, false, "dct");
}
Expr idct(const Operand& x, int64_t type, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return cosine_transform(x, type, n, axis, norm, true, "idct");
}

}  // namespace thtrain
