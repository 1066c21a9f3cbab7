// Permutations by NumPy's RandomState.
#include <algorithm>

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/random/device_twister.h"
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

// One thread exchanges elements, of which each takes words until one is in its range; the block makes the words.
void lower_device_permutation(kernel::StepBuilder& b) {
  using kernel::Term;
  kernel::Code& code = b.code();
  const kernel::Operand& out = b.output(1);
  const int64_t n = std::max<int64_t>(out.type.dims.back().value(), 1);
  const Dim draws = product(Dims(out.type.dims.begin(), out.type.dims.end() - 1)) * Dim(n - 1);
  DeviceTwister twister(b);
  const std::string left = code.shared_array("left", DType::kInt64, 1);
  code.loop("i", b.thread(), b.length(out.type.elements()), kernel::kDeviceThreads, kernel::LoopMark::kSequential,
            [&](const Term& i) { b.store(out, i, i % Term(n)); });
  twister.begin();
  code.barrier();
  int64_t all_bits = 1;
  while (all_bits < n - 1) all_bits = 2 * all_bits + 1;
  const Term more = code.var("more", b.length(draws)), next = code.var("next", 0), row = code.var("row", 0),
             last = code.var("last", n - 1), mask = code.var("mask", all_bits);
  const auto exchange = [&](const Term& other) {
    const Term first = code.let("first", row * Term(n)), x = code.let("x", b.load(out, first + last)),
               y = code.let("y", b.load(out, first + other));
    b.store(out, first + last, y);
    b.store(out, first + other, x);
    code.assign(last, last - Term(1));
    code.if_(last <= kernel::shift_right(mask, Term(1)),
             [&] { code.assign(mask, kernel::shift_right(mask, Term(1))); });
    code.if_(last == Term(0), [&] {
      code.assign(row, row + Term(1));
      code.assign(last, n - 1);
      code.assign(mask, all_bits);
    });
  };
  code.while_(more > Term(0), [&] {
    code.if_(b.thread() == Term(0), [&] {
      const Term pending = code.var("pending", more);
      code.while_(pending > Term(0) && next < twister.base() + Term(DeviceTwister::kWords), [&] {
        const Term other = code.let("other", kernel::cast(twister.word_at(next), DType::kInt64) & mask);
        code.assign(next, next + Term(1));
        code.if_(other <= last, [&] {
          exchange(other);
          code.assign(pending, pending - Term(1));
        });
      });
      code.store(left, 0, 1, pending);
      twister.use(next);
    });
    code.barrier();
    code.assign(more, kernel::load(left, DType::kInt64, 1, 0, 1));
    code.if_(more > Term(0), [&] { twister.twist(); });
  });
  twister.end();
  code.if_(b.thread() == Term(0), [&] { twister.keep_gauss(); });
  b.finish_device_kernel("permutation", "out0 = the next state; out1 = permutations", 1, kernel::kDeviceThreads,
                         "a block for the state, a thread for the permutations");
}

void lower_permutation(kernel::StepBuilder& b) {
  const Dims& dims = b.output(1).type.dims;
  // A range of more than 32 bits would take two words.
  constexpr int64_t kMost = int64_t{1} << 32;
  if (b.target().is_device() && dims.back().is_known() && dims.back().value() <= kMost)
    return lower_device_permutation(b);
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
