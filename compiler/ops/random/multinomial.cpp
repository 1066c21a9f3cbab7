// Counts of results in many trials by NumPy's RandomState.
#include "compiler/base/legacy_distributions.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/random/choice.h"
#include "compiler/ops/random/draw_functions.h"
#include "compiler/ops/random/draw_op.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::PointerTo;

constexpr const char* kWhat_multinomial = "multinomial: a parameter is out of range";

std::string expected(const std::string& row) {
  return str(
      "n >= 0, probabilities from 0 to 1, of which all but the last have a sum of 1 at most; it is not so for "
      "row ",
      row, " of the result, counted from 1");
}

Dims rows_of(const Dims& dims) {
  return Dims(dims.begin(), dims.end() - 1);
}

std::vector<Type> infer_multinomial(const TypeArgs& args) {
  const Type state = state_type(args), &n = args.type(1), &p = args.type(2);
  const Dims& dims = drawn_dims(args);
  args.require(n.dtype == DType::kInt64 && (n.rank() == 0 || n.rank() + 1 == dims.size()),
               "the numbers of trials are no int64 for each row of the result");
  args.require(p.dtype == DType::kFloat64 && (p.rank() == 1 || p.rank() == dims.size()) && !dims.empty(),
               "the probabilities are no float64 vector for each row of the result");
  for (size_t k = 0; k < n.rank(); ++k) args.require_equal(n.dims[k], dims[k], "multinomial: lengths of n and rows");
  for (size_t k = 0; k < p.rank(); ++k)
    args.require_equal(p.dims[k], dims[dims.size() - p.rank() + k], "multinomial: lengths of p and of the result");
  return {state, {.dtype = DType::kInt64, .dims = dims}};
}

std::vector<Tensor> reference_multinomial(const ReferenceArgs& args) {
  RandomState state = random_state_of(args.inputs[0]);
  const Tensor &n = args.inputs[1], &p = args.inputs[2];
  Tensor out = args.make_output(1);
  const int64_t k = out.shape().back(), rows = k == 0 ? 0 : out.size() / k;
  auto trials = [&](int64_t row) { return n.data<int64_t>()[n.rank() == 0 ? 0 : row]; };
  auto chances = [&](int64_t row) { return p.data<double>() + (p.rank() == 1 ? 0 : row * k); };
  for (int64_t row = 0; row < rows; ++row)
    if (!are_multinomial(trials(row), chances(row), k))
      throw UserError({.what = kWhat_multinomial,
                       .expected = expected(std::to_string(row + 1)),
                       .node = args.node.origin.text(),
                       .config = args.node.origin.config()});
  for (int64_t row = 0; row < rows; ++row)
    legacy::multinomial(state, trials(row), chances(row), k, out.data<int64_t>() + row * k);
  return {tensor_of(state), out};
}

void lower_multinomial(kernel::StepBuilder& b) {
  const kernel::Operand &n = b.input(1), &p = b.input(2), &out = b.output(1);
  const Dim& k = out.type.dims.back();
  const Dim rows = k.is(0) ? Dim(0) : product(rows_of(out.type.dims));
  b.call_library({multinomial_function(),
                  {rows, k, PointerTo{n.index}, Dim(n.type.is_scalar() ? 0 : 1), PointerTo{p.index},
                   p.type.rank() == 1 && out.type.rank() > 1 ? Dim(0) : k, PointerTo{b.input(0).index},
                   PointerTo{b.output(0).index}, PointerTo{out.index}},
                  kernel::RuntimeCheck{kWhat_multinomial, expected("{value}"), b.node().origin}});
}

std::vector<OpCase> cases_multinomial() {
  auto build = [](LengthList size, Operand n, Tensor p) {
    return [=](const std::vector<Expr>& in) {
      const Drawn out = draw_multinomial(state_of_words(in[0]), size, n, make_constant(p));
      return std::vector{out.next, out.sample};
    };
  };
  const Tensor one = Tensor::vector({0.25, 0.5, 0.0, 0.25}), rows = Tensor::matrix({{0.25, 0.75}, {1.0, 0.0}});
  std::vector<OpCase> out{{.name = "one", .inputs = {words_type()}, .build = build({}, 100, one)},
                          {.name = "rows", .inputs = {words_type()}, .build = build({2}, arange(3, 5), rows)},
                          {.name = "repeated", .inputs = {words_type()}, .build = build({6, 2}, 9, one)},
                          {.name = "none", .inputs = {words_type()}, .build = build({0}, 9, one)}};
  for (OpCase& one_case : out) one_case.int_high = kWordsHigh;
  return out;
}

}  // namespace

const kernel::LibraryFunction& multinomial_function() {
  static const kernel::LibraryFunction function{"mt_multinomial", TH_TEXT_OF(TH_MULTINOMIAL_PARAMETERS), true};
  return function;
}

const Op& mt_multinomial_op() {
  static const Op op =
      draw_op({.name = "mt_multinomial",
               .doc = "How often each of k results comes in n trials with the probabilities p, by NumPy's "
                      "RandomState.multinomial, bit for bit.\n"
                      "Shapes: a state; n [] or [rows]; p [k] or [rows, k]; gives the next state and [rows, k].\n"
                      "dtypes: n int64, p float64; gives int64.\n"
                      "Gradient: none.\n"
                      "Edge cases: an error where n or a probability is negative, or all probabilities but the last "
                      "sum to more than 1.\n"
                      "Example: 10 throws of a coin: perhaps [4, 6]\n"
                      "Source: M. Matsumoto, T. Nishimura, ACM TOMACS 8(1), 1998 (MT19937); NumPy's RandomState.",
               .infer = infer_multinomial,
               .reference = reference_multinomial,
               .lower = lower_multinomial,
               .cases = cases_multinomial},
              100);
  return op;
}

Drawn draw_multinomial(const Operand& state, const LengthList& size, const Operand& n, const Operand& p) {
  const Expr chances = cast(p, DType::kFloat64);
  if (chances.rank() == 0)
    fail_build(p.where(), "multinomial: the probabilities have no axis", "a vector, or one for each row",
               value_text(chances));
  Dims dims = size.dims;
  if (dims.empty()) dims.assign(chances.dims().begin(), chances.dims().end() - 1);
  dims.push_back(chances.dims().back());
  const Expr trials = n.is_literal() ? n.for_dtype(DType::kInt64) : cast(n, DType::kInt64);
  return drawn(mt_multinomial_op(), {state.expr(), trials, chances}, {{"dims", dims}}, p.where());
}

}  // namespace thtrain
