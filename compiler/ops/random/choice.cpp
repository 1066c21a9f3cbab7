// Numbers below k with given probabilities, with and without replacement, by NumPy's RandomState.
#include "compiler/ops/random/choice.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/random/device_twister.h"
#include "compiler/ops/random/draw_functions.h"
#include "compiler/ops/random/draw_op.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::PointerTo;
using kernel::StepBuilder;

// With what is lost by each addition added to the next (W. Kahan, Communications of the ACM 8(1), 1965).
double careful_sum(const double* x, int64_t n) {
  double sum = 0, lost = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double more = x[i] - lost, next = sum + more;
    lost = (next - sum) - more;
    sum = next;
  }
  return sum;
}

// The running sums, divided by the last one.
void distribution_function(const double* p, int64_t k, double* out) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) out[i] = sum = i == 0 ? p[0] : sum + p[i];
  for (int64_t i = 0; i < k; ++i) out[i] /= sum;
}

int64_t position_in(const double* sums, int64_t k, double u) {
  return std::upper_bound(sums, sums + k, u) - sums;
}

constexpr const char* kWhat_choice = "choice: the probabilities are none";
constexpr const char* kExpected =
    "numbers of at least 0 whose sum is 1; without replacement as many that are not 0 as are drawn";

bool replaces(const Node& node) {
  return node.props.get<bool>("with_replacement");
}

std::vector<Type> infer_choice(const TypeArgs& args) {
  const Type state = state_type(args), &p = args.type(1);
  args.require(p.rank() == 1 && p.dtype == DType::kFloat64, "the probabilities are no vector of float64");
  return {state, {.dtype = DType::kInt64, .dims = drawn_dims(args)}};
}

std::vector<Tensor> reference_choice(const ReferenceArgs& args) {
  RandomState state = random_state_of(args.inputs[0]);
  const Tensor& p = args.inputs[1];
  Tensor out = args.make_output(1);
  if (!is_choosable(p.data<double>(), p.size(), out.size(), replaces(args.node)))
    throw UserError({.what = kWhat_choice,
                     .expected = kExpected,
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  std::vector<double> work(static_cast<size_t>(2 * p.size() + out.size()));
  choose(state, p.data<double>(), p.size(), out.size(), replaces(args.node), out.data<int64_t>(), work.data());
  return {tensor_of(state), out};
}

// With replacement: a uniform number each, and its position in the running sums of the probabilities, which one thread
// adds up, since others would round in another way.
void lower_device_choice(StepBuilder& b) {
  using kernel::Term;
  kernel::Code& code = b.code();
  const kernel::Operand &p = b.input(1), &out = b.output(1);
  const Dim count = out.type.elements();
  const kernel::Operand sums = b.workspace(DType::kFloat64, p.type.dims[0]),
                        drawn = b.workspace(DType::kFloat64, count);
  const auto number = [](double value) { return kernel::constant(DType::kFloat64, value); };
  DeviceTwister twister(b);
  const std::string fits = code.shared_array("fits", DType::kInt64, 1);
  const Term n = b.length(count), k = b.length(p.type.dims[0]);
  twister.begin();
  code.if_(b.thread() == Term(0), [&] {
    const Term sum = code.var("sum", number(0)), exact = code.var("exact", number(0)),
               lost = code.var("lost", number(0)), least = code.var("is_least", 1);
    code.loop("i", k, [&](const Term& i) {
      const Term x = code.let("x", b.load(p, i)), added = code.let("added", x - lost),
                 next = code.let("next", exact + added);
      code.assign(lost, next - exact - added);
      code.assign(exact, next);
      code.assign(sum, sum + x);
      code.assign(least, kernel::select(x >= number(0), least, Term(0)));
      b.store(sums, i, sum);
    });
    code.loop("i", k, [&](const Term& i) { b.store(sums, i, b.load(sums, i) / sum); });
    const Term is_one = kernel::fabs(exact - number(1)) <= number(1.5e-8);
    code.store(fits, 0, 1, kernel::select(n == Term(0) || (least == Term(1) && is_one), Term(1), Term(0)));
  });
  code.barrier();
  b.require(kernel::load(fits, DType::kInt64, 1, 0, 1) == Term(1), {kWhat_choice, kExpected, b.node().origin}, 0, 0);
  twister.uniforms(drawn, n);
  twister.end();
  code.if_(b.thread() == Term(0), [&] { twister.keep_gauss(); });
  b.finish_device_kernel("choice_words", "out0 = the next state, and a uniform number for each of out1", 1,
                         kernel::kDeviceThreads, "a block for the state");
  const Term i = code.let("i", b.block() * Term(kernel::kDeviceThreads) + b.thread());
  code.if_(i < b.length(count), [&] {
    const Term u = code.let("u", b.load(drawn, i)), low = code.var("low", 0),
               high = code.var("high", b.length(p.type.dims[0]));
    code.while_(low < high, [&] {
      const Term half = code.let("half", (low + high) / Term(2)),
                 is_before = code.let("is_before", b.load(sums, half) <= u);
      code.assign(low, kernel::select(is_before, half + Term(1), low));
      code.assign(high, kernel::select(is_before, high, half));
    });
    b.store(out, i, low);
  });
  b.finish_device_kernel("choice", "out1 = where the sums of in1 exceed uniform numbers",
                         kernel::blocks_for(count, kernel::kDeviceThreads), kernel::kDeviceThreads,
                         "a thread for each number");
}

void lower_choice(StepBuilder& b) {
  if (b.target().is_device() && replaces(b.node())) return lower_device_choice(b);
  const kernel::Operand &p = b.input(1), &out = b.output(1);
  const Dim n = out.type.elements(), &k = p.type.dims[0];
  const kernel::Operand work = b.workspace(DType::kFloat64, Dim(2) * k + n);
  b.call_library({choice_function(),
                  {n, k, Dim(replaces(b.node()) ? 1 : 0), PointerTo{p.index}, PointerTo{b.input(0).index},
                   PointerTo{b.output(0).index}, PointerTo{out.index}, PointerTo{work.index}},
                  kernel::RuntimeCheck{kWhat_choice, kExpected, b.node().origin}});
}

std::vector<OpCase> cases_choice() {
  auto build = [](int64_t n, bool with_replacement) {
    return [=](const std::vector<Expr>& in) {
      const Expr p = make_constant(Tensor::vector({0.125, 0.0, 0.25, 0.0625, 0.5, 0.03125, 0.03125}));
      const Drawn out = draw_choice(state_of_words(in[0]), {n}, p, with_replacement);
      return std::vector{out.next, out.sample};
    };
  };
  std::vector<OpCase> out{{.name = "with", .inputs = {words_type()}, .build = build(400, true)},
                          {.name = "without", .inputs = {words_type()}, .build = build(4, false)},
                          {.name = "all", .inputs = {words_type()}, .build = build(6, false)},
                          {.name = "none", .inputs = {words_type()}, .build = build(0, false)}};
  for (OpCase& one : out) one.int_high = kWordsHigh;
  return out;
}

}  // namespace

bool is_choosable(const double* p, int64_t k, int64_t n, bool with_replacement) {
  if (n == 0) return true;
  if (!std::all_of(p, p + k, [](double x) { return x >= 0; })) return false;
  if (!(std::fabs(careful_sum(p, k) - 1) <= 1.5e-8)) return false;
  return with_replacement || std::count_if(p, p + k, [](double x) { return x > 0; }) >= n;
}

void choose(RandomState& state, const double* p, int64_t k, int64_t n, bool with_replacement, int64_t* out,
            double* work) {
  double *sums = work, *left = work + k, *u = work + 2 * k;
  if (n == 0) return;
  if (with_replacement) {
    distribution_function(p, k, sums);
    for (int64_t i = 0; i < n; ++i) out[i] = position_in(sums, k, state.random_sample());
    return;
  }
  // As many numbers as are missing are drawn at a time; of equal ones the first counts.
  std::copy(p, p + k, left);
  for (int64_t found = 0; found < n;) {
    const int64_t before = found;
    distribution_function(left, k, sums);
    state.uniforms(0, 1, u, static_cast<size_t>(n - found));
    for (int64_t i = 0, count = n - before; i < count; ++i) {
      const int64_t position = position_in(sums, k, u[i]);
      if (std::find(out + before, out + found, position) != out + found) continue;
      out[found++] = position;
      left[position] = 0;
    }
  }
}

bool are_multinomial(int64_t n, const double* p, int64_t k) {
  return n >= 0 && std::all_of(p, p + k, [](double x) { return x >= 0 && x <= 1; }) &&
         careful_sum(p, std::max<int64_t>(k - 1, 0)) <= 1 + 1e-12;
}

const kernel::LibraryFunction& choice_function() {
  static const kernel::LibraryFunction function{"mt_choice", TH_TEXT_OF(TH_CHOICE_PARAMETERS), true};
  return function;
}

const Op& mt_choice_op() {
  static const Op op = draw_op(
      {.name = "mt_choice",
       .doc = "Numbers below k with the probabilities p[k], by NumPy's RandomState.choice, bit for bit; without "
              "replacement no number comes twice.\n"
              "Shapes: a state, p [k]; gives the next state and [dims].\n"
              "dtypes: p float64; gives int64.\n"
              "Gradient: none.\n"
              "Edge cases: an error where probabilities are negative or do not sum to 1, or too few are not 0.\n"
              "Example: 2 of [0.5, 0, 0.5]: perhaps [2, 0]\n"
              "Source: M. Matsumoto, T. Nishimura, ACM TOMACS 8(1), 1998 (MT19937); NumPy's RandomState.",
       .infer = infer_choice,
       .reference = reference_choice,
       .lower = lower_choice,
       .cases = cases_choice},
      40);
  return op;
}

Drawn draw_choice(const Operand& state, const LengthList& size, const Operand& p, bool with_replacement) {
  return drawn(mt_choice_op(), {state.expr(), cast(p, DType::kFloat64)},
               {{"dims", size.dims}, {"with_replacement", with_replacement}}, p.where());
}

}  // namespace thtrain
