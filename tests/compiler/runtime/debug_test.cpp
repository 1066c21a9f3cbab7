// The debug mode names what is wrong: the rule, the step, the buffer.
#include "compiler/runtime/debug.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/registry.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;
using kernel::Term;

std::string built_at(int line) {
  return str("  node:     built at ", __FILE__, ":", line);
}

Function debugged(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                  const std::vector<Update>& updates = {}, std::vector<Pass> extra = {}) {
  return function(inputs, outputs, updates, {.mode = Mode::kDebug, .extra_passes = std::move(extra)});
}

TEST(Debug, StepOfANetworkPasses) {
  RandomState random(int64_t{1});
  auto drawn = [&](Shape shape) {
    return Tensor::of(random.uniform(-0.5, 0.5, static_cast<size_t>(element_count(shape))), shape);
  };
  Shared w(drawn({7, 5}), "W"), b(Tensor::zeros(DType::kFloat64, {5}), "b"), v(drawn({5, 3}), "V");
  Expr x = matrix("x"), y = ivector("y");
  Expr hidden = tanh(dot(x, w) + b);
  Expr cost = -mean(pick_rows(log(softmax(dot(hidden, v))), y)) + 1e-4 * (sum(sqr(w)) + sum(sqr(v)));
  std::vector<Expr> gradients = grad(cost, {w, b, v});
  Function f = debugged(
      {x, y}, {cost},
      {{w, w.expr() - 0.1 * gradients[0]}, {b, b.expr() - 0.1 * gradients[1]}, {v, v.expr() - 0.1 * gradients[2]}});
  Tensor data = drawn({4, 7}), labels = Tensor::vector<int64_t>({0, 2, 1, 1});
  double first = f({data, labels})[0].as_double(), last = first;
  for (int i = 0; i < 5; ++i) last = f({data, labels})[0].as_double();
  EXPECT_LT(last, first);
}

// exp(x) -> tanh(x)
Graph wrong_rule(const Graph& graph, const PassContext& context) {
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != find_op("exp")) return {};
    Expr after = tanh(inputs[0]);
    context.note("wrong_pass", "exp_is_tanh", node[0], after);
    return {after};
  });
}
// The same, unsaid.
Graph silent_rule(const Graph& graph, const PassContext&) {
  return wrong_rule(graph, {});
}

TEST(Debug, NamesAWrongRule) {
  Expr x = vector("x");
  int line = __LINE__ + 1;
  Expr y = exp(x);
  Function f = debugged({x}, {y * 2}, {}, {{"wrong_pass", "", wrong_rule}});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({0.0, 2.0})});
            }),
            str("error: debug: the rule exp_is_tanh of the pass wrong_pass changes a value\n  expected: exp(x)\n"
                "  got:      tanh(x)\n            differs at [0]: 0, expected 1\n",
                built_at(line)));
}

TEST(Debug, NamesAWrongPassThatNotesNothing) {
  Expr x = vector("x");
  Function f = debugged({x}, {x + 1, exp(x) * 2}, {}, {{"silent_pass", "", silent_rule}});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({0.0, 2.0})});
            }),
            "error: debug: the pass silent_pass changes output 1\n  got:      differs at [0]: 0, expected 2");
}

// ---- wrong kernels -------------------------------------------------------------------------------------------------

std::vector<Type> type_of_first(const TypeArgs& a) {
  return {a.type(0)};
}
std::vector<Tensor> reversed(const ReferenceArgs& a) {
  Tensor out = a.make_output();
  for (int64_t i = 0, n = out.size(); i < n; ++i) out.data<double>()[i] = a.inputs[0].data<double>()[n - 1 - i];
  return {out};
}
void lower_reversed(StepBuilder& b) {
  Term n = b.length(b.output().type.dims[0]);
  b.code().loop("i", n, [&](Term i) { b.store(b.output(), i, b.load(b.input(0), n - Term(1) - i)); });
  b.finish_kernel("reversed", "out0 = in0 backwards", 1);
}
void lower_wrong(StepBuilder& b) {
  b.code().loop("i", b.length(b.output().type.dims[0]), [&](Term i) { b.store(b.output(), i, b.load(b.input(0), i)); });
  b.finish_kernel("wrong", "out0 = in0", 1);
}
void lower_greedy(StepBuilder& b) {
  Term n = b.length(b.output().type.dims[0]);
  b.code().loop("i", n, [&](Term i) { b.store(b.output(), i, b.load(b.input(0), n - Term(1) - i)); });
  b.code().loop("k", n, [&](Term k) { b.store(b.input(1), k, kernel::constant(DType::kFloat64, 7)); });
  b.finish_kernel("greedy", "writes in1", 1);
}
Op planted(std::string name, void (*lower)(StepBuilder&)) {
  return {.name = std::move(name), .doc = {}, .infer = type_of_first, .reference = reversed, .lower = lower};
}

TEST(Debug, NamesAWrongKernel) {
  static const Op op = planted("wrong_kernel", lower_wrong);
  Expr x = vector("x", {3});
  int line = __LINE__ + 1;
  Expr y = apply(op, {x});
  Function f = debugged({x}, {y});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({1.0, 2.0, 4.0})});
            }),
            str("error: debug: native code and reference differ in step 0 (wrong_kernel), output 0\n"
                "  got:      at [0]: 1, expected 4\n",
                built_at(line)));
}

TEST(Debug, NamesAWrongInPlaceClaim) {
  static const Op op = [] {
    Op out = planted("wrong_claim", lower_reversed);
    out.may_overwrite = {0};
    return out;
  }();
  Expr x = vector("x", {4});
  int line = __LINE__ + 1;
  Expr y = apply(op, {exp(x)});
  Function f = debugged({x}, {y * 2});
  Tensor zeros_and_tens = Tensor::vector({0.0, 0.0, 0.0, 2.0});
  std::string text = error_text([&] { f({zeros_and_tens}); });
  EXPECT_TRUE(text.starts_with("error: debug: native code and reference differ in step 1 (wrong_claim), output 0\n"))
      << text;
  EXPECT_TRUE(text.ends_with(built_at(line))) << text;
}

TEST(Debug, NamesABufferThatAStepChanged) {
  static const Op op = planted("greedy", lower_greedy);
  Shared w(Tensor::vector({1.0, 2.0}), "w");
  Expr x = vector("x", {2});
  int line = __LINE__ + 1;
  Expr y = apply(op, {x, w});
  Function f = debugged({x}, {y});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({1.0, 2.0})});
            }),
            str("error: debug: step 0 (greedy) changed the shared variable w outside its outputs\n", built_at(line)));
}

// What the caller lends is not the program's to write, borrowed or not; nor is an output that is done.
TEST(Debug, NamesAnInputThatAStepChanged) {
  static const Op op = planted("greedy_of_inputs", lower_greedy);
  for (bool borrow : {false, true}) {
    Expr x = vector("x", {2}), y = vector("y", {2});
    int line = __LINE__ + 1;
    Expr z = apply(op, {x, y});
    Function f = debugged({x, In(y, {}, borrow)}, {z});
    EXPECT_EQ(error_text([&] {
                f({Tensor::vector({1.0, 2.0}), Tensor::vector({3.0, 4.0})});
              }),
              str("error: debug: step 0 (greedy_of_inputs) changed the input y outside its outputs\n", built_at(line)));
  }
}

TEST(Debug, NamesAnOutputThatALaterStepChanged) {
  static const Op op = planted("greedy_of_outputs", lower_greedy);
  Expr x = vector("x", {2}), first = exp(x);
  int line = __LINE__ + 1;
  Expr second = apply(op, {x, first});
  Function f = debugged({x}, {first, second});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({1.0, 2.0})});
            }),
            str("error: debug: step 1 (greedy_of_outputs) changed output 0 outside its outputs\n", built_at(line)));
}

TEST(Debug, WatchShowsEachStep) {
  Expr x = vector("x", {3});
  Function f = function({x}, {sum(exp(x)), x * 2});
  size_t before = 0, after = 0;
  f.watch(std::vector<Tensor>{Tensor::vector({0.0, 0.0, 0.0})}, [&](const StepEvent& event) {
    (event.after ? after : before) += 1;
    EXPECT_GE(event.operands.size(), event.inputs);
  });
  EXPECT_EQ(before, after);
  EXPECT_GE(after, 2u);
}

}  // namespace
}  // namespace thtrain
