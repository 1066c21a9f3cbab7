// What computes transforms of Fourier for programs on a device: cuFFT, or a block of threads for each line.
#include <cmath>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/fft/fft_functions.h"
#include "compiler/ops/fft/transform.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kTransforms = "fourier_transform", *kCufft = "cuFFT", *kLines = "lines";
constexpr const char* kKinds[] = {"complex", "real", "back"};

// What is chosen by: a transform whose count may be decided by a call, or be 0 (-1).
struct TransformKey {
  DType dtype = DType::kFloat32;  // of a part
  int64_t kind = 0, count = -1, n0 = 1, n1 = 1, n2 = 1, inner = 1;
  bool inverse = false, is_scaled = false;
};

std::optional<TransformKey> key_of_transform(const Transform& t, DType dtype) {
  TransformKey out{.dtype = dtype, .kind = t.kind, .inverse = t.inverse, .is_scaled = t.norm != 0};
  for (const Dim& length : {t.n[0], t.n[1], t.n[2], t.inner})
    if (!length.is_known() || length.value() < 1) return std::nullopt;
  if (t.count.is_known() && !t.count.is(0)) out.count = t.count.value();
  out.n0 = t.n[0].value();
  out.n1 = t.n[1].value();
  out.n2 = t.n[2].value();
  out.inner = t.inner.value();
  return out;
}

// "float32 complex 64x1x1x512x1 inverse scaled": count, lengths, inner; "any" for a count that a call decides.
std::string text_of(const TransformKey& k) {
  return str(name_of(k.dtype), " ", kKinds[k.kind], " ", k.count < 0 ? "any" : std::to_string(k.count), "x", k.n0, "x",
             k.n1, "x", k.n2, "x", k.inner, k.inverse ? " inverse" : "", k.is_scaled ? " scaled" : "");
}

std::optional<TransformKey> read_key(const std::string& text) {
  TransformKey out;
  KeyReader reader(text);
  if (!reader.take("float32")) {
    if (!reader.take("float64")) return std::nullopt;
    out.dtype = DType::kFloat64;
  }
  if (!reader.take(" ")) return std::nullopt;
  while (out.kind < 3 && !reader.take(kKinds[out.kind])) ++out.kind;
  if (out.kind == 3 || !reader.take(" ")) return std::nullopt;
  if (!reader.take("any") && !reader.number(out.count, 1)) return std::nullopt;
  if (!reader.take("x") || !reader.numbers({&out.n0, &out.n1, &out.n2, &out.inner}, 1, int64_t{1} << 40))
    return std::nullopt;
  out.inverse = reader.take(" inverse");
  out.is_scaled = reader.take(" scaled");
  const bool has_axis = out.kind == Transform::kComplex || out.inner == 1;
  const bool is_row = out.kind != Transform::kHalfToReal || (out.n0 == 1 && out.n1 == 1 && out.inverse);
  return reader.is_at_end() && has_axis && is_row ? std::optional(out) : std::nullopt;
}

std::optional<Graph> example(const std::string& properties) {
  constexpr int64_t kCount = 64;
  const std::optional<TransformKey> k = read_key(properties);
  if (!k) return std::nullopt;
  const bool is_real = k->kind == Transform::kRealToHalf;
  const DType of_pair = k->dtype == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128;
  const int64_t count = k->count < 0 ? kCount : k->count, norm = k->is_scaled ? 2 : 0;
  Dims dims{count, k->n0, k->n1, k->n2};
  if (k->kind == Transform::kComplex) dims.emplace_back(k->inner);
  if (k->kind == Transform::kHalfToReal) dims = {count, k->n2 / 2 + 1};
  const Expr x = make_input({.dtype = is_real ? k->dtype : of_pair, .dims = dims}, "x");
  if (k->kind == Transform::kHalfToReal)
    return Graph{{x}, {apply(irfft_op(), {x}, {{"length", Dims{k->n2}}, {"norm", norm}})}, {}};
  if (is_real) return Graph{{x}, {apply(rfft_op(), {x}, {{"axes", int64_t{3}}, {"norm", norm}})}, {}};
  return Graph{
      {x},
      {apply(fft_op(), {x}, {{"axes", int64_t{3}}, {"after", int64_t{1}}, {"inverse", k->inverse}, {"norm", norm}})},
      {}};
}

// Of the copy where the count is known.
int64_t spectrum_bytes(const TransformKey& k) {
  if (k.kind != Transform::kHalfToReal || k.count < 0) return 0;
  return k.count * (k.n2 / 2 + 1) * 2 * static_cast<int64_t>(size_of(k.dtype));
}

// Of lower_transform_lines(): roots for each axis, and where the count is known a second place for all numbers, and a
// first one for what is no output.
int64_t line_bytes(const TransformKey& k) {
  const int64_t of_number = 2 * static_cast<int64_t>(size_of(k.dtype));
  const int64_t places = k.kind == Transform::kComplex ? 1 : 2,
                numbers = k.count < 0 ? 0 : places * k.count * k.n0 * k.n1 * k.n2 * k.inner;
  return of_number * numbers + line_roots({k.n0, k.n1, k.n2}) * static_cast<int64_t>(size_of(k.dtype));
}

double scale_of_known(const Transform& t) {
  const double n =
      static_cast<double>(t.n[0].value()) * static_cast<double>(t.n[1].value()) * static_cast<double>(t.n[2].value());
  return t.norm == 0 ? 1 : t.norm == 1 ? 1 / std::sqrt(n) : 1 / n;
}

// A copy of the spectrum, which cuFFT would overwrite: scaled, and the results that are their own conjugates real.
kernel::Operand copied_spectrum(StepBuilder& b, const Transform& t, double scale) {
  const kernel::Operand& in = b.input(0);
  kernel::Operand copy = b.workspace(in.type.dtype, in.type.elements());
  copy.type = in.type;
  copy.layout = row_major(in.type.dims);
  const kernel::Operand parts = parts_of(in);
  const size_t rank = parts.type.rank();
  kernel::Nest nest(parts.type.dims);
  const Term k = nest.axis(rank - 2), part = nest.axis(rank - 1), x = nest.load("x", kernel::placed(parts));
  const DType dtype = parts.type.dtype;
  const Term n = kernel::constant_int(DType::kInt64, t.n[2].value()), two = kernel::constant_int(DType::kInt64, 2),
             none = kernel::constant_int(DType::kInt64, 0);
  const Term is_zero = part != none && (k == none || k * two == n);
  nest.store(kernel::placed(parts_of(copy)),
             kernel::select(is_zero, kernel::constant(dtype, 0), x * kernel::constant(dtype, scale)));
  kernel::schedule(b, nest, "spectrum", "a copy that is a spectrum of real numbers, scaled");
  return copy;
}

void scale_results(StepBuilder& b, double scale) {
  const kernel::Operand parts = parts_of(b.output());
  kernel::Nest nest(parts.type.dims);
  nest.store(kernel::placed(parts), nest.load("x", kernel::placed(parts)) * kernel::constant(parts.type.dtype, scale));
  kernel::schedule(b, nest, "scale", "the results times a number");
}

void call_cufft(StepBuilder& b) {
  const Transform t = transform_of(b.node());
  const kernel::LibraryFunction function = cufft_function(b.target(), real_dtype(b.output().type.dtype));
  const double scale = scale_of_known(t);
  if (t.kind == Transform::kHalfToReal) return call_transform(b, function, t, copied_spectrum(b, t, scale), b.output());
  call_transform(b, function, t, b.input(0), b.output());
  if (t.norm != 0) scale_results(b, scale);
}

}  // namespace

kernel::LibraryFunction cufft_function(const Target& target, DType dtype) {
  return dtype == DType::kFloat32 ? device_function(target, "cufft_f32", TH_TEXT_OF(TH_FFT_PARAMETERS(float)), true)
                                  : device_function(target, "cufft_f64", TH_TEXT_OF(TH_FFT_PARAMETERS(double)), true);
}

const Computation& fourier_transform() {
  static const Computation computation{
      kTransforms, kLines, example, [](const ChoiceKey&, const Target&, int, double) { return std::string(kCufft); }};
  return computation;
}

CandidateSource cufft_transforms() {
  return {kTransforms,
          [](const ChoiceKey& key, const Target& target) {
            if (!target.is_device()) return std::vector<Candidate>();
            const TransformKey k = *read_key(key.properties);
            return std::vector{Candidate{.name = kCufft,
                                         .workspace_bytes = spectrum_bytes(k),
                                         .functions = {cufft_function(target, k.dtype).name},
                                         .lower = call_cufft,
                                         .is_of_device = true}};
          },
          nullptr,
          {kCufft}};
}

CandidateSource line_transforms() {
  return {
      kTransforms,
      [](const ChoiceKey& key, const Target& target) {
        if (!target.is_device()) return std::vector<Candidate>();
        return std::vector{Candidate{
            .name = kLines, .workspace_bytes = line_bytes(*read_key(key.properties)), .lower = lower_transform_lines}};
      },
      nullptr,
      {kLines}};
}

void lower_on_device(StepBuilder& b) {
  const std::optional<TransformKey> key = key_of_transform(transform_of(b.node()), real_dtype(b.output().type.dtype));
  if (!key) return lower_transform_lines(b);
  lower_chosen(b, {kTransforms, text_of(*key)});
}

}  // namespace thtrain
