// The transforms: complex ones along some neighbouring axes, of real numbers along the last axes, and back.
#include <cmath>
#include <complex>
#include <numbers>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/fft/fft_functions.h"
#include "compiler/ops/fft/transform.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using Number = std::complex<long double>;
using enum Transform::Kind;

DType complex_dtype(DType dtype) {
  return real_dtype(dtype) == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128;
}

// The definition, with the sums of each prime factor of n taken apart: n times the sum of its prime factors products.
std::vector<Number> definition(const std::vector<Number>& x, int sign) {
  const size_t n = x.size();
  size_t prime = 2;
  while (prime * prime <= n && n % prime != 0) ++prime;
  if (n < 2 || n % prime != 0) prime = std::max<size_t>(n, 1);
  std::vector<Number> roots(n), out(n);
  for (size_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  const size_t rest = n / prime;
  for (size_t q = 0; q < prime && n > 0; ++q) {
    std::vector<Number> part(rest);
    for (size_t j = 0; j < rest; ++j) part[j] = x[q + j * prime];
    if (rest > 1) part = definition(part, sign);
    for (size_t k = 0; k < n; ++k) {
      const Number a = part[k % rest], b = roots[q * k % n];
      out[k] += Number(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    }
  }
  return out;
}

// f(the numbers of a line, which it replaces) for all lines along an axis of outer x n x inner numbers.
template <class F>
void each_line(std::vector<Number>& all, size_t outer, size_t n, size_t inner, F&& f) {
  std::vector<Number> line(n);
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < inner; ++i) {
      for (size_t j = 0; j < n; ++j) line[j] = all[(o * n + j) * inner + i];
      f(line);
      for (size_t j = 0; j < n; ++j) all[(o * n + j) * inner + i] = line[j];
    }
}

struct Lengths {
  size_t count, inner;
  std::array<size_t, 3> n;
  size_t of_transform() const { return n[0] * n[1] * n[2]; }
};

Lengths lengths_of(const Transform& transform, const std::function<int64_t(const std::string&)>& length_of) {
  auto number = [&](const Dim& dim) { return static_cast<size_t>(dim.evaluate(length_of)); };
  return {number(transform.count),
          number(transform.inner),
          {number(transform.n[0]), number(transform.n[1]), number(transform.n[2])}};
}

// The numbers in time, or all results of a spectrum of which half is given.
std::vector<Number> numbers_of(const Tensor& x, const Transform& transform, const Lengths& lengths) {
  std::vector<Number> out(lengths.count * lengths.of_transform() * lengths.inner);
  const size_t n = lengths.n[2], half = n / 2 + 1;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const from = x.data<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (is_complex_v<T>) {
        if (transform.kind == kComplex) {
          out[i] = Number(from[i]);
          continue;
        }
        const size_t k = i % n;
        const Number value(from[i / n * half + std::min(k, n - k)]);
        out[i] = 2 * k % n == 0 ? Number(value.real()) : 2 * k > n ? std::conj(value) : value;
      } else {
        out[i] = static_cast<long double>(from[i]);
      }
    }
  });
  return out;
}

long double scale_of(const Transform& transform, const Lengths& lengths) {
  const auto n = static_cast<long double>(lengths.of_transform());
  return transform.norm == 0 || n == 0 ? 1 : transform.norm == 1 ? 1 / std::sqrt(n) : 1 / n;
}

std::vector<Tensor> reference_of_transform(const ReferenceArgs& args) {
  const Transform transform = transform_of(args.node);
  const Lengths lengths = lengths_of(transform, args.length_of);
  std::vector<Number> all = numbers_of(args.inputs[0], transform, lengths);
  size_t outer = lengths.count, inner = lengths.of_transform() * lengths.inner;
  for (size_t axis = 0; axis < 3 && !all.empty(); ++axis) {
    inner /= lengths.n[axis];
    each_line(all, outer, lengths.n[axis], inner,
              [&](std::vector<Number>& line) { line = definition(line, transform.inverse ? 1 : -1); });
    outer *= lengths.n[axis];
  }
  Tensor out = args.make_output();
  const long double scale = scale_of(transform, lengths);
  const size_t n = lengths.n[2], half = n / 2 + 1;
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data<T>();
    for (int64_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      const size_t from = transform.kind == kRealToHalf ? at / half * n + at % half : at;
      const Number value = all.empty() ? Number() : all[from] * scale;  // a spectrum of no numbers has one element
      if constexpr (is_complex_v<T>)
        to[i] = T(value);
      else
        to[i] = static_cast<T>(value.real());
    }
  });
  return {out};
}

// Each result is a sum of all numbers times numbers of modulus 1, and the roundings are within u log2(n) of the root of
// the sum of squares (Higham, Accuracy and Stability of Numerical Algorithms, section 24.1), some times that for
// Bluestein's convolutions.
std::vector<Tensor> error_of_transform(const ErrorArgs& args) {
  const Transform transform = transform_of(args.node);
  const Lengths lengths = lengths_of(transform, args.length_of);
  const std::vector<Number> values = numbers_of(args.inputs[0], transform, lengths);
  const Tensor& error = args.errors[0];
  Tensor out = args.make_error();
  const size_t n = lengths.of_transform(),
               of_input = lengths.count * lengths.inner == 0
                              ? 0
                              : static_cast<size_t>(error.size()) / lengths.count / lengths.inner,
               of_output = lengths.count * lengths.inner == 0
                               ? 0
                               : static_cast<size_t>(out.size()) / lengths.count / lengths.inner;
  const double roundings = 16 * (std::log2(static_cast<double>(std::max<size_t>(n, 1))) + 4),
               scale = static_cast<double>(scale_of(transform, lengths));
  for (size_t c = 0; c < lengths.count; ++c)
    for (size_t i = 0; i < lengths.inner; ++i) {
      double sum = 0, squares = 0;
      for (size_t j = 0; j < of_input; ++j) sum += error.data<double>()[(c * of_input + j) * lengths.inner + i];
      for (size_t j = 0; j < n; ++j) squares += static_cast<double>(std::norm(values[(c * n + j) * lengths.inner + i]));
      if (transform.kind == kHalfToReal) sum *= 2;
      const double bound = scale * (1.0001 * sum + roundings * float_limits(args.outputs[0].dtype()).unit *
                                                       std::sqrt(squares * static_cast<double>(n)));
      for (size_t j = 0; j < of_output; ++j) out.data<double>()[(c * of_output + j) * lengths.inner + i] = bound;
    }
  return {out};
}

void lower_transform(kernel::StepBuilder& b) {
  if (b.target().is_device()) return lower_on_device(b);
  const Transform transform = transform_of(b.node());
  call_transform(b, fft_function(real_dtype(b.output().type.dtype)), transform, b.input(0), b.output());
}

Cost cost_of_transform(const Node& node) {
  const Transform transform = transform_of(node);
  const Dim n = transform.elements();
  // 5 n log2(n), half of it for real numbers.
  const double length = n.is_known() ? static_cast<double>(std::max<int64_t>(n.value(), 2)) : 1024;
  const auto of_number = static_cast<int64_t>((transform.kind == kComplex ? 5 : 2.5) * std::log2(length));
  const Type &in = node.inputs[0].type(), &out = node.types[0];
  return {Dim(of_number) * transform.count * n * transform.inner,
          Dim(static_cast<int64_t>(size_of(in.dtype))) * in.elements() +
              Dim(static_cast<int64_t>(size_of(out.dtype))) * out.elements()};
}

// The results of a real transform that are their own conjugates: 1, others: `other`.
Expr weights(const Dim& n, double other, DType dtype) {
  const Expr length = apply(length_op(), {}, {{"dim", Dims{n}}}), k = arange(floor_div(length, 2) + 1);
  return where(eq(mod(k * 2, length), 0), full({}, 1.0, dtype), full({}, other, dtype));
}

std::vector<Expr> gradient_of_fft(const GradientArgs& args) {
  return {apply(fft_op(), {args.cotangent()}, args.node.props)};
}

std::vector<Expr> gradient_of_rfft(const GradientArgs& args) {
  const Props& props = args.node.props;
  Expr d = args.cotangent();
  const int64_t axes = props.get<int64_t>("axes"), norm = props.get<int64_t>("norm");
  if (axes > 1)
    d = apply(fft_op(), {d}, {{"axes", axes - 1}, {"after", int64_t(1)}, {"inverse", false}, {"norm", norm}});
  const Dim& n = args.input(0).dims().back();
  const Expr half = conj(d) * weights(n, 0.5, real_dtype(d.dtype()));
  return {apply(irfft_op(), {half}, {{"length", Dims{n}}, {"norm", norm}})};
}

std::vector<Expr> gradient_of_irfft(const GradientArgs& args) {
  const Expr d = args.cotangent();
  const Props props{{"axes", int64_t(1)}, {"norm", args.node.props.get<int64_t>("norm")}};
  return {conj(apply(rfft_op(), {d}, props)) * weights(d.dims().back(), 2, d.dtype())};
}

bool takes_row_major(const Node& node, size_t i, const Layout& layout) {
  return is_row_major(node.inputs[i].dims(), layout);
}

void require_axes(const TypeArgs& args) {
  const int64_t axes = args.props.get_or<int64_t>("axes", 1), after = args.props.get_or<int64_t>("after", 0);
  args.require(axes >= 1 && axes <= 3 && after >= 0 && axes + after <= static_cast<int64_t>(args.type(0).rank()),
               "there are no such axes");
}

using Build = std::function<Expr(const Expr&)>;
OpCase case_of(std::string name, DType dtype, Dims dims, Build build, bool smooth = true) {
  return {.name = std::move(name),
          .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
          .build = [build = std::move(build)](const std::vector<Expr>& in) { return std::vector{build(in[0])}; },
          .smooth = smooth,
          .bound = 64};
}

std::vector<OpCase> cases_fft() {
  const Build forward = [](const Expr& x) { return fft(x); };
  return {
      case_of("row", DType::kComplex128, {12}, forward),
      case_of("inverse", DType::kComplex128, {3, 8}, [](const Expr& x) { return ifft(x); }),
      case_of("first_axis", DType::kComplex128, {5, 3}, [](const Expr& x) { return fft(x, {}, 0, FftNorm::kOrtho); }),
      case_of("middle_axis", DType::kComplex64, {2, 7, 9}, [](const Expr& x) { return ifft(x, {}, 1); }),
      case_of("three_axes", DType::kComplex128, {2, 3, 4, 2},
              [](const Expr& x) {
                return fftn(x, {1, 2, 3});
              }),
      case_of("large_prime", DType::kComplex64, {2, 67}, forward, false),
      case_of("long_row", DType::kComplex128, {360}, forward, false),
      case_of("of_any_length", DType::kComplex128, {"b", "n"}, forward),
      case_of("one", DType::kComplex128, {3, 1}, forward),
      case_of("no_rows", DType::kComplex128, {0, 4}, forward),
  };
}

std::vector<OpCase> cases_rfft() {
  const Build forward = [](const Expr& x) { return rfft(x); };
  return {
      case_of("even", DType::kFloat64, {3, 8}, forward),
      case_of("odd", DType::kFloat64, {2, 9}, [](const Expr& x) { return rfft(x, {}, -1, FftNorm::kForward); }),
      case_of("two_axes", DType::kFloat32, {2, 4, 6}, [](const Expr& x) { return rfft2(x); }),
      case_of("three_axes", DType::kFloat64, {3, 2, 5}, [](const Expr& x) { return rfftn(x); }),
      case_of("rows", DType::kFloat32, {20, 30}, forward, false),
      case_of("large_prime", DType::kFloat64, {134}, forward, false),
      case_of("of_any_length", DType::kFloat64, {"b", "n"}, forward),
      case_of("one", DType::kFloat64, {1}, forward),
      case_of("no_rows", DType::kFloat32, {0, 4}, forward),
  };
}

std::vector<OpCase> cases_irfft() {
  const Build back = [](const Expr& x) { return irfft(x); };
  return {
      case_of("even", DType::kComplex128, {3, 5}, back),
      case_of("odd", DType::kComplex128, {2, 5}, [](const Expr& x) { return irfft(x, 9, -1, FftNorm::kOrtho); }),
      case_of("rows", DType::kComplex64, {20, 16}, back, false),
      case_of("large_prime", DType::kComplex128, {68}, back, false),
      case_of("of_any_length", DType::kComplex128, {"b", "m"}, back),
      case_of("one", DType::kComplex128, {1}, [](const Expr& x) { return irfft(x, 1); }),
      case_of("no_rows", DType::kComplex64, {0, 4}, back),
  };
}

}  // namespace

Transform transform_of(const Node& node) {
  Transform out{.kind = node.op == &fft_op() ? kComplex : node.op == &rfft_op() ? kRealToHalf : kHalfToReal};
  const Type& in_time = out.kind == kHalfToReal ? node.types[0] : node.inputs[0].type();
  const auto axes = static_cast<size_t>(node.props.get_or<int64_t>("axes", 1)),
             after = static_cast<size_t>(node.props.get_or<int64_t>("after", 0)), first = in_time.rank() - after - axes;
  for (size_t i = 0; i < in_time.rank(); ++i) {
    const Dim& length = in_time.dims[i];
    if (i < first)
      out.count = out.count * length;
    else if (i < first + axes)
      out.n[3 - axes + (i - first)] = length;
    else
      out.inner = out.inner * length;
  }
  out.inverse = node.props.get_or<bool>("inverse", out.kind == kHalfToReal);
  out.norm = node.props.get_or<int64_t>("norm", 0);
  return out;
}

void call_transform(kernel::StepBuilder& b, const kernel::LibraryFunction& function, const Transform& transform,
                    const kernel::Operand& in, const kernel::Operand& out) {
  b.call_library(
      {function,
       {Dim(transform.kind), transform.count, transform.n[0], transform.n[1], transform.n[2], transform.inner,
        Dim(transform.inverse), Dim(transform.norm), kernel::PointerTo{in.index}, kernel::PointerTo{out.index}}});
}

const kernel::LibraryFunction& fft_function(DType dtype) {
  static const kernel::LibraryFunction of_float{"fft_f32", TH_TEXT_OF(TH_FFT_PARAMETERS(float))},
      of_double{"fft_f64", TH_TEXT_OF(TH_FFT_PARAMETERS(double))};
  return dtype == DType::kFloat32 ? of_float : of_double;
}

const Op& fft_op() {
  static const Op op{
      .name = "fft",
      .doc =
          "The discrete Fourier transform along one to three neighbouring axes: y[k] = sum of x[j] e^(-2 pi i j k / "
          "n); "
          "`inverse`: of e^(2 pi i j k / n). Times 1, 1 / sqrt(N) or 1 / N for `norm` 0, 1, 2 and N elements.\n"
          "Shapes: any; `after` axes follow those of the transform.\n"
          "dtypes: complex numbers.\n"
          "Gradient: dx is the same transform of dy.\n"
          "Edge cases: a transform of no elements has none.\n"
          "Example: of [1, 2, 3, 4]: [10, -2 + 2i, -2, -2 - 2i]",
      .infer =
          [](const TypeArgs& args) {
            args.require(is_complex(args.type(0).dtype), "the input is not complex");
            require_axes(args);
            return std::vector{args.type(0)};
          },
      .reference = reference_of_transform,
      .error = error_of_transform,
      .gradient = gradient_of_fft,
      .jvp = linear_jvp,
      .lower = lower_transform,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .aliases = {{.output = 0, .input = 0}},
      .cost = cost_of_transform,
      .cases = cases_fft,
  };
  return op;
}

const Op& rfft_op() {
  static const Op op{
      .name = "rfft",
      .doc =
          "The results k = 0 ... n / 2 of the discrete Fourier transform of real numbers along the last axis; along "
          "one "
          "or two more axes before it complex transforms. `norm` as of fft.\n"
          "Shapes: [..., n] to [..., n / 2 + 1].\n"
          "dtypes: floats to complex numbers.\n"
          "Gradient: dx is the transform back of the conjugate of dy, with half of what has a conjugate.\n"
          "Edge cases: of no elements: a 0.\n"
          "Example: of [1, 2, 3, 4]: [10, -2 + 2i, -2]",
      .infer =
          [](const TypeArgs& args) {
            args.require(is_float(args.type(0).dtype), "the input is no array of floats");
            require_axes(args);
            Type out = args.type(0);
            out.dtype = complex_dtype(out.dtype);
            out.dims.back() = floor_div(out.dims.back(), 2) + 1;
            return std::vector{out};
          },
      .reference = reference_of_transform,
      .error = error_of_transform,
      .gradient = gradient_of_rfft,
      .jvp = linear_jvp,
      .lower = lower_transform,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .cost = cost_of_transform,
      .cases = cases_rfft,
  };
  return op;
}

const Op& irfft_op() {
  static const Op op{
      .name = "irfft",
      .doc =
          "The real numbers of `length` n whose transform (rfft) is given: y[j] = sum of x[k] e^(2 pi i j k / n), with "
          "x[n - k] the conjugate of x[k]. `norm` as of fft.\n"
          "Shapes: [..., n / 2 + 1] to [..., n].\n"
          "dtypes: complex numbers to floats.\n"
          "Gradient: dx is the conjugate of rfft of dy, twice that of what has a conjugate.\n"
          "Edge cases: imaginary parts of x[0], and of x[n / 2] for an even n, count as 0.\n"
          "Example: of [10, -2 + 2i, -2] with norm 2: [1, 2, 3, 4]",
      .infer =
          [](const TypeArgs& args) {
            const Type& x = args.type(0);
            args.require(is_complex(x.dtype), "the input is not complex");
            args.require(x.rank() >= 1, "a scalar has no axis");
            const Dims& length = args.props.get<Dims>("length");
            args.require(length.size() == 1, "there is no length");
            require_length(args, length[0]);
            args.require_equal(x.dims.back(), floor_div(length[0], 2) + 1, "the spectrum has another length");
            Type out = x;
            out.dtype = real_dtype(x.dtype);
            out.dims.back() = length[0];
            return std::vector{out};
          },
      .reference = reference_of_transform,
      .error = error_of_transform,
      .gradient = gradient_of_irfft,
      .jvp = linear_jvp,
      .lower = lower_transform,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .cost = cost_of_transform,
      .cases = cases_irfft,
  };
  return op;
}

}  // namespace thtrain
