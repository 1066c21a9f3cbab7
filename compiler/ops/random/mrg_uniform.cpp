// Uniform numbers of MRG31k3p, many streams side by side.
#include <algorithm>

#include "compiler/base/mrg31k3p.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/random/draw_op.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Nest;
using kernel::StepBuilder;
using kernel::Term;

// What z is multiplied with: of float32 a little less than 2^-31, so that no number is rounded to 1.
constexpr float kNarrowScale = 4.6566126e-10f;
constexpr double kWideScale = 0x1p-31;

constexpr int64_t kWork = 60;  // simple operations of a number
constexpr size_t kWords = 6;   // of a stream's state

std::vector<Type> infer_mrg_uniform(const TypeArgs& args) {
  const Type& state = args.type(0);
  args.require(state.dtype == DType::kInt32 && state.rank() == 2, "the first input is no state of MRG31k3p",
               "int32[6, streams]");
  args.require_equal(state.dims[0], 6, "the words of a state of MRG31k3p");
  args.require(!state.dims[1].is(0), "there is no stream");
  const DType dtype = args.props.get<DType>("dtype");
  args.require(dtype == DType::kFloat32 || dtype == DType::kFloat64, "the numbers have another dtype",
               "float32 or float64");
  return {state, {.dtype = dtype, .dims = drawn_dims(args)}};
}

std::vector<Tensor> reference_mrg_uniform(const ReferenceArgs& args) {
  Tensor state = args.inputs[0].contiguous().copy(), out = args.make_output(1);
  const int64_t streams = state.dim(1);
  int32_t* words = state.data<int32_t>();
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t stream = i % streams;
    Mrg31k3p::State one;
    for (int64_t k = 0; k < 6; ++k) one[static_cast<size_t>(k)] = words[k * streams + stream];
    Mrg31k3p generator(one);
    const int32_t z = generator.next();
    for (int64_t k = 0; k < 6; ++k) words[k * streams + stream] = generator.state()[static_cast<size_t>(k)];
    if (out.dtype() == DType::kFloat32)
      out.data<float>()[i] = static_cast<float>(z) * kNarrowScale;
    else
      out.data<double>()[i] = static_cast<double>(z) * kWideScale;
  }
  return {state, out};
}

Term number(int64_t value) {
  return kernel::constant_int(DType::kInt32, value);
}
// t in [-m, m) to [0, m), both modulo m.
Term folded(const Term& t, int64_t modulus) {
  return t + (kernel::shift_right(t, number(31)) & number(modulus));
}

using Words = std::vector<Term>;  // x[n-1], x[n-2], x[n-3], y[n-1], y[n-2], y[n-3] of a stream

// The next number in (0, 1), and the words then.
std::pair<Term, Words> next_of(Nest& nest, const Words& words, DType dtype) {
  using kernel::shift_left;
  using kernel::shift_right;
  constexpr int64_t kM1 = Mrg31k3p::kModulus1, kM2 = Mrg31k3p::kModulus2;
  const Term &x1 = words[0], &x2 = words[1], &x3 = words[2], &y1 = words[3], &y2 = words[4], &y3 = words[5];
  // Modulo 2^31 - 1 a product with a power of two turns the bits round.
  const Term high = shift_left(x2 & number(511), number(22)) + shift_right(x2, number(9));
  const Term low = shift_left(x3 & number(16777215), number(7)) + shift_right(x3, number(24));
  const Term turned = nest.let("turned", folded(nest.let("t", high - number(kM1) + low), kM1));
  const Term x = nest.let("x", folded(nest.let("t", turned - number(kM1) + x3), kM1));
  // 2^31 is 21069 modulo m2: 2^15 v = 2^15 (v mod 2^16) + 21069 (v div 2^16).
  auto times = [&](const Term& v) {
    const Term t = shift_left(v & number(65535), number(15)) - number(kM2) +
                   shift_right(v, number(16)) * number(Mrg31k3p::kMultiplier2);
    return nest.let("times", folded(nest.let("t", t), kM2));
  };
  const Term last = times(y3);
  const Term sum = nest.let("sum", folded(nest.let("t", last - number(kM2) + y3), kM2));
  const Term first = times(y1);
  const Term y = nest.let("y", folded(nest.let("t", sum - number(kM2) + first), kM2));
  const Term difference = nest.let("difference", x - y);
  const Term z = difference + (shift_right(difference - number(1), number(31)) & number(kM1));
  const Term u = nest.let(
      "u", kernel::cast(z, dtype) * kernel::constant(dtype, dtype == DType::kFloat32 ? kNarrowScale : kWideScale));
  return {u, {x, x1, x2, y, y1, y2}};
}

// A row is one number of every stream; the last one may end before the last stream. So the first streams give a number
// more than the others.
void lower_mrg_uniform(StepBuilder& b) {
  const kernel::Operand &state = b.input(0), &out = b.output(1);
  const Dim &streams = state.type.dims[1], n = out.type.elements(), rows = floor_div(n, streams),
            rest = n - rows * streams;
  const auto some_streams = [&](const Dim& first, const Dim& end, const Dim& numbers, const char* comment) {
    Nest nest({{end - first}, {numbers, kernel::AxisKind::kSequential}});
    nest.work = kWork;
    const auto word = [&](const kernel::Operand& of, size_t k) {
      return kernel::Location{of, {1, 0}, b.length(streams * static_cast<int64_t>(k) + first)};
    };
    Words words;
    for (size_t k = 0; k < kWords; ++k) words.push_back(nest.carried("word", nest.load("start", word(state, k))));
    const auto [number, next] = next_of(nest, words, out.type.dtype);
    nest.store({out, {1, streams}, b.length(first)}, number);
    for (size_t k : {2, 1, 0, 5, 4, 3}) nest.set(words[k], next[k]);
    for (size_t k = 0; k < kWords; ++k) nest.store(word(b.output(0), k), nest.last(words[k]));
    kernel::schedule(b, nest, "mrg_uniform", comment);
  };
  if (!rest.is(0)) some_streams(0, rest, rows + 1, "out1 = the next numbers of the first streams, one more of each");
  if (!rows.is(0) || !b.overwrites(0))  // else what is left of the state lies where it lay
    some_streams(rest, streams, rows, "out1 = the next numbers of each stream");
}

std::vector<OpCase> cases_mrg_uniform() {
  // Words below the second modulus: any are a state.
  auto build = [](LengthList size, DType dtype) {
    return [=](const std::vector<Expr>& in) {
      const Drawn out = draw_mrg_uniform(in[0], size, dtype);
      return std::vector{out.next, out.sample};
    };
  };
  auto streams = [](int64_t n) { return std::vector{Type{.dtype = DType::kInt32, .dims = {6, n}}}; };
  std::vector<OpCase> out{{.name = "narrow", .inputs = streams(37), .build = build({50, 9}, DType::kFloat32)},
                          {.name = "wide", .inputs = streams(37), .build = build({451}, DType::kFloat64)},
                          {.name = "whole_rows", .inputs = streams(64), .build = build({64, 3}, DType::kFloat32)},
                          {.name = "one_stream", .inputs = streams(1), .build = build({7}, DType::kFloat64)},
                          {.name = "fewer_numbers", .inputs = streams(40), .build = build({23}, DType::kFloat32)},
                          {.name = "none", .inputs = streams(5), .build = build({0}, DType::kFloat32)}};
  for (OpCase& one : out) {
    one.int_low = 1;
    one.int_high = Mrg31k3p::kModulus2;
    one.smooth = false;
  }
  return out;
}

}  // namespace

const Op& mrg_uniform_op() {
  static const Op op = draw_op(
      {.name = "mrg_uniform",
       .doc = "z 2^-31, in (0, 1), for the next z of MRG31k3p: number i is of stream i mod streams.\n"
              "Shapes: a state [6, streams], the words x[n-1], x[n-2], x[n-3], y[n-1], y[n-2], y[n-3] of each; gives "
              "the next state and [dims].\n"
              "dtypes: the state int32; gives float32 or float64.\n"
              "Gradient: none.\n"
              "Edge cases: in float32 the factor is 4.6566126e-10, and no number is 1.\n"
              "Example: perhaps [0.73, 0.09]\n"
              "Source: P. L'Ecuyer, R. Touzin, Proceedings of the 2000 Winter Simulation Conference (MRG31k3p).",
       .infer = infer_mrg_uniform,
       .reference = reference_mrg_uniform,
       .lower = lower_mrg_uniform,
       .cases = cases_mrg_uniform},
      kWork);
  return op;
}

Drawn draw_mrg_uniform(const Operand& state, const LengthList& size, std::optional<DType> dtype,
                       std::source_location where) {
  return drawn(mrg_uniform_op(), {state.expr()}, {{"dims", size.dims}, {"dtype", dtype.value_or(floatX())}}, where);
}

}  // namespace thtrain
