#include "tests/fuzz/garbage.h"

#include <cmath>
#include <limits>

namespace thtrain {

// Mostly a number that a small shape has, or just misses.
int64_t Garbage::integer() {
  if (!one_in(40)) return static_cast<int64_t>(below(one_in(3) ? 8 : 4)) - (one_in(3) ? 2 : 0);
  is_huge_ = true;
  constexpr int64_t kHuge[] = {std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max(),
                               int64_t{1} << 62,
                               int64_t{1} << 40,
                               -(int64_t{1} << 31),
                               100000};
  return kHuge[below(std::size(kHuge))];
}

double Garbage::number() {
  constexpr double kNumbers[] = {0,
                                 1,
                                 -1,
                                 0.5,
                                 2,
                                 1e-3,
                                 3,
                                 -2.5,
                                 1e300,
                                 std::numeric_limits<double>::infinity(),
                                 -1e300,
                                 -0.0,
                                 std::numeric_limits<double>::quiet_NaN()};
  return kNumbers[below(std::size(kNumbers))];
}

DType Garbage::dtype() {
  return one_in(8) ? kAllDTypes[below(std::size(kAllDTypes))] : one_in(5) ? DType::kInt64 : DType::kFloat64;
}

void Garbage::fill(std::string& out) {
  constexpr const char* kTexts[] = {"x", "", "a name", "\"quoted\"\n", "n", "~", "@i~3", "1", "\xff"};
  out = kTexts[below(std::size(kTexts))];
}

void Garbage::fill(Tensor& out) {
  Shape shape;
  for (size_t axis = one_in(4) ? below(6) : rank_; axis > 0; --axis)
    shape.push_back(one_in(30) ? 0 : one_in(10) ? 1 + static_cast<int64_t>(below(3)) : lengths_[axis % 6]);
  out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = one_in(10) ? number() : static_cast<double>(below(4));
  for (int64_t i = 0; i < out.size(); ++i)
    if (std::abs(out.as_double(i)) > 1e6 || std::isnan(out.as_double(i))) return;  // no integers
  out = out.cast(dtype());
  if (out.rank() == 2 && one_in(8)) out = out.view({out.dim(1), out.dim(0)}, {out.strides()[1], out.strides()[0]}, 0);
}

void Garbage::fill(Dim& out) {
  if (one_in(8))
    out = Dim::named(one_in(2) ? "n" : "m");
  else
    out = one_in(10) ? Dim::named("n") * 2 - 1 : Dim(integer());
}

void Garbage::fill(Dims& out) {
  for (size_t n = below(4); n > 0; --n) out.push_back(draw<Dim>());
}

void Garbage::fill(LengthList& out) {
  out = LengthList(draw<Dims>());
}

Expr Garbage::leaf() {
  const Tensor value = draw<Tensor>();
  switch (below(4)) {
    case 0:
      return make_constant(value);
    case 1:
      return tensor("x", Dims(value.shape().begin(), value.shape().end()), value.dtype());
    case 2:
      return Shared(value, "s").expr();
    default:
      return tensor_of_rank("y", value.rank(), value.dtype());
  }
}

// A value that an op gave; the leaf where that would be a mistake already.
Expr Garbage::made_of(const Expr& x) {
  try {
    switch (below(6)) {
      case 0:
        return x[0];
      case 1:
        return sum(x, -1);
      case 2:
        return x.T();
      case 3:
        return x + 1;
      case 4:
        return x > 0;
      default:
        return cast(x, dtype());
    }
  } catch (const UserError&) {
    return x;
  }
}

void Garbage::fill(Expr& out) {
  if (one_in(40)) return;
  out = leaf();
  if (one_in(4)) out = made_of(out);
}

template <>
Operand Garbage::draw<Operand>() {
  if (one_in(8)) return Operand(integer());
  if (one_in(8)) return Operand(number());
  if (one_in(30)) return Operand(true);
  return Operand(draw<Expr>());
}
template <>
Length Garbage::draw<Length>() {
  if (one_in(12)) return Length(draw<Expr>());
  return one_in(10) ? Length(draw<std::string>().c_str()) : Length(draw<Dim>());
}
template <>
Index Garbage::draw<Index>() {
  if (one_in(8)) return one_in(2) ? Index(ellipsis()) : Index(new_axis());
  if (one_in(3)) return Index(draw<Slice>());
  return one_in(2) ? Index(integer()) : Index(draw<Expr>());
}
template <>
KeepDims Garbage::draw<KeepDims>() {
  return KeepDims(one_in(2));
}
template <>
Ddof Garbage::draw<Ddof>() {
  return Ddof(integer());
}
template <>
Shared Garbage::draw<Shared>() {
  return Shared(draw<Tensor>(), draw<std::string>(), one_in(2));
}
template <>
In Garbage::draw<In>() {
  return In(draw<Expr>(), draw<std::optional<Tensor>>());
}
template <>
Out Garbage::draw<Out>() {
  return Out(draw<Expr>(), one_in(2));
}
template <>
ScanSequence Garbage::draw<ScanSequence>() {
  return one_in(2) ? ScanSequence(draw<Expr>()) : ScanSequence(draw<Expr>(), draw<std::vector<int64_t>>());
}
template <>
ScanOutput Garbage::draw<ScanOutput>() {
  if (one_in(3)) return {};
  return one_in(2) ? ScanOutput(draw<Expr>()) : ScanOutput(draw<Expr>(), draw<std::vector<int64_t>>());
}

void Garbage::fill(Slice& out) {
  if (one_in(2)) out.start = draw<Operand>();
  if (one_in(2)) out.stop = draw<Operand>();
  if (one_in(3)) out.step = draw<Operand>();
}
void Garbage::fill(Axes& out) {
  if (one_in(2)) out = Axes(draw<std::vector<int64_t>>());
}
void Garbage::fill(Update& out) {
  out.variable = draw<Expr>();
  out.value = draw<Expr>();
}
void Garbage::fill(ConvPadding& out) {
  const ConvPadding kinds[] = {ConvPadding::valid(), ConvPadding::full(), ConvPadding::half(), ConvPadding::causal()};
  out = one_in(3) ? ConvPadding::zeros(draw<std::vector<std::pair<int64_t, int64_t>>>()) : kinds[below(4)];
}
void Garbage::fill(ConvOptions& out) {
  if (one_in(2)) fill(out.padding);
  if (one_in(3)) fill(out.stride);
  if (one_in(3)) fill(out.dilation);
  if (one_in(3)) fill(out.groups);
  fill(out.flip);
  out.unshared = one_in(4);
}
void Garbage::fill(PoolOptions& out) {
  fill(out.window);
  if (one_in(2)) fill(out.stride);
  if (one_in(2)) fill(out.padding);
  fill(out.ignore_border);
  fill(out.mode);
}
void Garbage::fill(UpsamplingRatio& out) {
  fill(out.up);
  fill(out.down);
}
void Garbage::fill(LocalResponse& out) {
  fill(out.channels);
  fill(out.k);
  fill(out.alpha);
  fill(out.beta);
}
void Garbage::fill(RunningMoments& out) {
  fill(out.mean);
  fill(out.variance);
  fill(out.factor);
}
void Garbage::fill(JvpOptions& out) {
  if (one_in(3)) fill(out.consider_constant);
  fill(out.disconnected);
  if (out.disconnected == Disconnected::kWarn) out.disconnected = Disconnected::kZero;  // no lines on standard error
}
void Garbage::fill(GradOptions& out) {
  if (one_in(3)) fill(out.consider_constant);
  if (one_in(3)) fill(out.known_grads);
  out.disconnected = one_in(2) ? Disconnected::kZero : one_in(3) ? Disconnected::kEmpty : Disconnected::kError;
  fill(out.null_gradients);
}
void Garbage::fill(ScanOptions& out) {
  fill(out.sequences);
  fill(out.outputs_info);
  if (one_in(3)) fill(out.non_sequences);
  if (one_in(2)) fill(out.n_steps);
  if (one_in(3)) fill(out.truncate_gradient);
  fill(out.go_backwards);
  fill(out.strict);
  fill(out.name);
}
void Garbage::fill(FunctionOptions& out) {
  out.mode = Mode::kReference;
  if (one_in(4)) fill(out.threads);
  fill(out.name);
  if (one_in(3)) fill(out.givens);
  if (one_in(4)) fill(out.effects);
  if (one_in(3)) out.no_default_updates = draw<std::vector<Expr>>();
  if (one_in(6)) out.without = {draw<std::string>()};
  out.unused_inputs = one_in(2) ? UnusedInputs::kAllowed : UnusedInputs::kRefused;
  if (one_in(6)) fill(out.conv_tolerance);
  if (one_in(6)) out.candidates = {{draw<std::string>(), draw<std::string>()}};
}

}  // namespace thtrain
