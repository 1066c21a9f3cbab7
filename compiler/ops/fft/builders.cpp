// What users call for transforms: axes, lengths and norms as NumPy's fft module has them.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

enum class Direction { kThere, kBack };

int64_t norm_number(FftNorm norm, Direction direction) {
  if (norm == FftNorm::kOrtho) return 1;
  return (norm == FftNorm::kForward) == (direction == Direction::kThere) ? 2 : 0;
}

struct Call {
  const char* builder;
  std::source_location where;
};

// Numbers from 0, each once.
std::vector<size_t> axes_of(const Expr& x, const std::vector<int64_t>& axes, const Call& call) {
  std::vector<size_t> out;
  for (int64_t axis : axes) {
    const size_t number = axis_of(axis, x, call.builder, call.where);
    if (std::ranges::count(out, number) > 0)
      fail_build(call.where, str(call.builder, ": axis ", axis, " is named twice"), "different axes", value_text(x));
    out.push_back(number);
  }
  if (axes.empty())
    for (size_t i = 0; i < x.rank(); ++i) out.push_back(i);
  return out;
}

// Cut, or filled up with zeros.
Expr of_length(const Expr& x, size_t axis, const Dim& n, const Call& call) {
  const Dim& has = x.dims()[axis];
  if (has == n) return x;
  if (!has.is_known() || !n.is_known())
    fail_build(call.where, str(call.builder, ": the length ", n.text(), " is asked for of an axis of ", has.text()),
               "known lengths, or the axis' own", value_text(x), "cut it, or join zeros to it, before the transform");
  if (n.value() < has.value()) return slice_axis(x, static_cast<int64_t>(axis), 0, n);
  std::vector<PadWidth> widths(x.rank() - axis, {0, 0});
  widths[0].second = n.value() - has.value();
  return pad(x, widths);
}

void require_elements(const Expr& x, const Dim& n, const Call& call) {
  if (n.is_known() && n.value() < 1)
    fail_build(call.where, str(call.builder, ": a transform of ", n.text(), " elements"), "at least 1", value_text(x));
}

Expr complex_of(const Expr& x) {
  if (is_complex(x.dtype())) return x;
  return cast(x,
              (is_float(x.dtype()) ? x.dtype() : floatX()) == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128);
}

// Along axes that are given by number: neighbours together, up to three of them.
Expr complex_transform(Expr x, std::vector<size_t> axes, bool inverse, int64_t norm, const Call& call) {
  std::ranges::sort(axes);
  while (!axes.empty()) {
    const size_t last = axes.back();
    int64_t count = 0;
    for (; count < 3 && !axes.empty() && axes.back() + static_cast<size_t>(count) == last; ++count) axes.pop_back();
    x = apply(
        fft_op(), {x},
        {{"axes", count}, {"after", static_cast<int64_t>(x.rank() - 1 - last)}, {"inverse", inverse}, {"norm", norm}},
        call.where);
  }
  return x;
}

// x with the lengths that are asked for.
Expr of_lengths(Expr x, const std::vector<size_t>& axes, const LengthList& lengths, const Call& call) {
  if (!lengths.dims.empty() && lengths.dims.size() != axes.size())
    fail_build(call.where, str(call.builder, ": ", lengths.dims.size(), " lengths for ", axes.size(), " axes"),
               "a length for each axis", value_text(x));
  for (size_t i = 0; i < lengths.dims.size(); ++i) {
    require_elements(x, lengths.dims[i], call);
    x = of_length(x, axes[i], lengths.dims[i], call);
  }
  for (size_t axis : axes) require_elements(x, x.dims()[axis], call);
  return x;
}

Expr complex_fft(const Operand& operand, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm,
                 Direction direction, const char* builder) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Call call{builder, operand.where()};
  const Expr x = complex_of(operand.expr());
  const std::vector<size_t> numbers = axes_of(x, axes, call);
  return complex_transform(of_lengths(x, numbers, lengths, call), numbers, direction == Direction::kBack,
                           norm_number(norm, direction), call);
}

// f of x with that axis as the last one, and back.
template <class F>
Expr along_last(const Expr& x, size_t axis, F&& f) {
  if (axis + 1 == x.rank()) return f(x);
  return moveaxis(f(moveaxis(x, static_cast<int64_t>(axis), -1)), -1, static_cast<int64_t>(axis));
}

Expr real_fft(const Operand& operand, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm,
              const char* builder) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Call call{builder, operand.where()};
  Expr x = operand.expr();
  if (is_complex(x.dtype()))
    fail_build(call.where, str(builder, ": the values are complex"), "real numbers", value_text(x),
               "fft takes complex numbers");
  if (!is_float(x.dtype())) x = cast(x, floatX());
  std::vector<size_t> numbers = axes_of(x, axes, call);
  if (numbers.empty())
    fail_build(call.where, str(builder, ": a scalar has no axis"), "an axis at least", value_text(x));
  x = of_lengths(x, numbers, lengths, call);
  const int64_t factor = norm_number(norm, Direction::kThere);
  // The last axes in their order are one op.
  bool are_last = numbers.size() <= 3;
  for (size_t i = 0; i < numbers.size(); ++i) are_last &= numbers[i] == x.rank() - numbers.size() + i;
  const auto op = [&](const Expr& value, int64_t count) {
    return apply(rfft_op(), {value}, {{"axes", count}, {"norm", factor}}, call.where);
  };
  if (are_last) return op(x, static_cast<int64_t>(numbers.size()));
  x = along_last(x, numbers.back(), [&](const Expr& value) { return op(value, 1); });
  numbers.pop_back();
  return complex_transform(x, numbers, false, factor, call);
}

Expr real_ifft(const Operand& operand, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm,
               const char* builder) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Call call{builder, operand.where()};
  Expr x = complex_of(operand.expr());
  std::vector<size_t> numbers = axes_of(x, axes, call);
  if (numbers.empty())
    fail_build(call.where, str(builder, ": a scalar has no axis"), "an axis at least", value_text(x));
  const size_t last = numbers.back();
  const Dim n = lengths.dims.empty() ? (x.dims()[last] - 1) * 2 : lengths.dims.back();
  require_elements(x, n, call);
  Dims of_spectrum = lengths.dims;
  if (!of_spectrum.empty()) of_spectrum.back() = floor_div(n, 2) + 1;
  x = of_lengths(x, numbers, of_spectrum, call);
  numbers.pop_back();
  const int64_t factor = norm_number(norm, Direction::kBack);
  x = complex_transform(x, numbers, true, factor, call);
  return along_last(x, last, [&](const Expr& value) {
    return apply(irfft_op(), {value}, {{"length", Dims{n}}, {"norm", factor}}, call.where);
  });
}

LengthList list_of(const std::optional<Length>& n) {
  return n ? LengthList{*n} : LengthList{};
}

Expr shifted(const Operand& operand, const std::vector<int64_t>& axes, Direction direction, const char* builder) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = operand.expr();
  for (size_t axis : axes_of(x, axes, {builder, operand.where()})) {
    const Expr half = floor_div(length(x, static_cast<int64_t>(axis)), 2);
    x = roll(x, direction == Direction::kThere ? half : -half, static_cast<int64_t>(axis));
  }
  return x;
}

// 0, 1, ... over n spacing; from the number of `positive` ones on, minus n.
Expr frequencies(const Dim& n, const Dim& count, double spacing, bool is_both, DType dtype,
                 const std::source_location& where_called) {
  const Origin origin = Origin::here(where_called);
  InheritOrigin inherit(origin);
  const Expr length = apply(length_op(), {}, {{"dim", Dims{n}}}),
             k = arange(apply(length_op(), {}, {{"dim", Dims{count}}}));
  const Expr number = is_both ? where(k * 2 < length, k, k - length) : k;
  return cast(number, dtype) / (cast(length, dtype) * spacing);
}

}  // namespace

Expr fft(const Operand& x, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return complex_fft(x, {axis}, list_of(n), norm, Direction::kThere, "fft");
}
Expr ifft(const Operand& x, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return complex_fft(x, {axis}, list_of(n), norm, Direction::kBack, "ifft");
}
Expr rfft(const Operand& x, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return real_fft(x, {axis}, list_of(n), norm, "rfft");
}
Expr irfft(const Operand& x, std::optional<Length> n, int64_t axis, FftNorm norm) {
  return real_ifft(x, {axis}, list_of(n), norm, "irfft");
}

Expr fftn(const Operand& x, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm) {
  return complex_fft(x, axes, lengths, norm, Direction::kThere, "fftn");
}
Expr ifftn(const Operand& x, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm) {
  return complex_fft(x, axes, lengths, norm, Direction::kBack, "ifftn");
}
Expr rfftn(const Operand& x, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm) {
  return real_fft(x, axes, lengths, norm, "rfftn");
}
Expr irfftn(const Operand& x, const std::vector<int64_t>& axes, const LengthList& lengths, FftNorm norm) {
  return real_ifft(x, axes, lengths, norm, "irfftn");
}

Expr fft2(const Operand& x, const LengthList& lengths, FftNorm norm) {
  return complex_fft(x, {-2, -1}, lengths, norm, Direction::kThere, "fft2");
}
Expr ifft2(const Operand& x, const LengthList& lengths, FftNorm norm) {
  return complex_fft(x, {-2, -1}, lengths, norm, Direction::kBack, "ifft2");
}
Expr rfft2(const Operand& x, const LengthList& lengths, FftNorm norm) {
  return real_fft(x, {-2, -1}, lengths, norm, "rfft2");
}
Expr irfft2(const Operand& x, const LengthList& lengths, FftNorm norm) {
  return real_ifft(x, {-2, -1}, lengths, norm, "irfft2");
}

Expr fftshift(const Operand& x, const std::vector<int64_t>& axes) {
  return shifted(x, axes, Direction::kThere, "fftshift");
}
Expr ifftshift(const Operand& x, const std::vector<int64_t>& axes) {
  return shifted(x, axes, Direction::kBack, "ifftshift");
}
Expr fftfreq(const Length& n, double spacing, std::optional<DType> dtype, std::source_location where) {
  return frequencies(n.dim(), n.dim(), spacing, true, dtype.value_or(floatX()), where);
}
Expr rfftfreq(const Length& n, double spacing, std::optional<DType> dtype, std::source_location where) {
  return frequencies(n.dim(), floor_div(n.dim(), 2) + 1, spacing, false, dtype.value_or(floatX()), where);
}

}  // namespace thtrain
