// Permutations by NumPy's RandomState.
#include "compiler/ops/random/draw_functions.h"
#include "compiler/ops/random/draw_op.h"

namespace thtrain {
namespace {

using kernel::PointerTo;

std::vector<Type> infer_permutation(const TypeArgs& args) {
  const Type state = state_type(args);
  const Dims& dims = drawn_dims(args);
  args.require(!dims.empty(), "a permutation has an axis");
  return {state, {.dtype = DType::kInt64, .dims = dims}};
}

std::vector<Tensor> reference_permutation(const ReferenceArgs& args) {
  RandomState state = random_state_of(args.inputs[0]);
  Tensor out = args.make_output(1);
  const int64_t n = out.shape().back();
  for (int64_t first = 0; first < out.size(); first += n) {
    const std::vector<int64_t> row = state.permutation(n);
    std::copy(row.begin(), row.end(), out.data<int64_t>() + first);
  }
  return {tensor_of(state), out};
}

void lower_permutation(kernel::StepBuilder& b) {
  const Dims& dims = b.output(1).type.dims;
  b.call_library({permutation_function(),
                  {product(Dims(dims.begin(), dims.end() - 1)), dims.back(), PointerTo{b.input(0).index},
                   PointerTo{b.output(0).index}, PointerTo{b.output(1).index}}});
}

std::vector<OpCase> cases_permutation() {
  auto build = [](LengthList size, int64_t n) {
    return [=](const std::vector<Expr>& in) {
      const Drawn out = draw_permutation(state_of_words(in[0]), size, n);
      return std::vector{out.next, out.sample};
    };
  };
  return {{.name = "one", .inputs = {words_type()}, .build = build({}, 37), .int_high = kWordsHigh},
          {.name = "rows", .inputs = {words_type()}, .build = build({3, 2}, 11), .int_high = kWordsHigh},
          {.name = "short", .inputs = {words_type()}, .build = build({4}, 1), .int_high = kWordsHigh},
          {.name = "empty", .inputs = {words_type()}, .build = build({4}, 0), .int_high = kWordsHigh}};
}

}  // namespace

const kernel::LibraryFunction& permutation_function() {
  static const kernel::LibraryFunction function{"mt_permutation", TH_TEXT_OF(TH_PERMUTATION_PARAMETERS), true};
  return function;
}

const Op& mt_permutation_op() {
  static const Op op = draw_op(
      {.name = "mt_permutation",
       .doc =
           "Permutations of 0 to n - 1 along the last axis, one after the other, by NumPy's RandomState.permutation.\n"
           "Shapes: a state; gives the next state and [dims].\n"
           "dtypes: gives int64.\n"
           "Gradient: none.\n"
           "Edge cases: none.\n"
           "Example: of 3: perhaps [2, 0, 1]\n"
           "Source: M. Matsumoto, T. Nishimura, ACM TOMACS 8(1), 1998 (MT19937); NumPy's RandomState.",
       .infer = infer_permutation,
       .reference = reference_permutation,
       .lower = lower_permutation,
       .cases = cases_permutation},
      10);
  return op;
}

Drawn draw_permutation(const Operand& state, const LengthList& size, const Length& n) {
  Dims dims = size.dims;
  dims.push_back(n.dim());
  return drawn(mt_permutation_op(), {state.expr()}, {{"dims", dims}}, state.where());
}

}  // namespace thtrain
