// The debug mode names what is wrong: the rule, the step, the buffer.
#include "compiler/runtime/debug.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/registry.h"
#include "compiler/runtime/debug_rewrites.h"
#include "tests/support/fault_text.h"

namespace thtrain::debug_test {
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
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({0.0, 2.0})});
            }),
            str("error: debug: the rule exp_is_tanh of the pass wrong_pass changes a value\n  expected: exp(x)\n"
                "  got:      tanh(x)\n            differs at [0]: 0, expected 1, bound 1.1e-15\n",
                built_at(line)));
}

TEST(Debug, NamesAWrongPassThatNotesNothing) {
  Expr x = vector("x");
  Function f = debugged({x}, {x + 1, exp(x) * 2}, {}, {{"silent_pass", "", silent_rule}});
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({0.0, 2.0})});
            }),
            "error: debug: the pass silent_pass changes output 1\n  got:      differs at [0]: 0, expected 2, "
            "bound 2.4e-15");
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
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({1.0, 2.0, 4.0})});
            }),
            str("error: debug: native code and reference differ in step 0 (wrong_kernel), output 0\n"
                "  got:      at [0]: 1, expected 4, bound 7.1e-15\n",
                built_at(line)));
}

TEST(Debug, ChecksTheStepsOfBodies) {
  static const Op op = planted("wrong_kernel", lower_wrong);
  Expr x = vector("x", {3});
  int line = __LINE__ + 1;
  const auto wrong = [](const Expr& e) { return apply(op, {e}); };
  const Expr in_a_loop = repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{wrong(s[0])}; })[0];
  const Expr in_a_branch = if_else(
      gt(sum(x), 0), [&] { return wrong(x); }, [&] { return x; });
  for (const Expr& y : {in_a_loop, in_a_branch}) {
    Function f = debugged({x}, {y});
    const std::string text = fault_text([&] { f({Tensor::vector({1.0, 2.0, 4.0})}); });
    EXPECT_TRUE(text.starts_with("error: debug: native code and reference differ in step ")) << text;
    EXPECT_NE(text.find("(wrong_kernel), output 0\n  got:      at [0]: 1, expected 4, bound "), std::string::npos)
        << text;
    EXPECT_TRUE(text.ends_with(built_at(line))) << text;
  }
  // The side that is not taken computes nothing wrong.
  EXPECT_EQ(debugged({x}, {in_a_branch})({Tensor::vector({-1.0, -2.0, -4.0})})[0].text(), "[-1, -2, -4]");
}

TEST(Debug, NamesAWrongInPlaceClaim) {
  static const Op op = [] {
    Op out = planted("wrong_claim", lower_reversed);
    out.aliases = {{.output = 0, .input = 0}};
    return out;
  }();
  Expr x = vector("x", {4});
  int line = __LINE__ + 1;
  Expr y = apply(op, {exp(x)});
  Function f = debugged({x}, {y * 2});
  Tensor zeros_and_tens = Tensor::vector({0.0, 0.0, 0.0, 2.0});
  std::string text = fault_text([&] { f({zeros_and_tens}); });
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
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({1.0, 2.0})});
            }),
            str("error: debug: step 0 (greedy) changed the shared variable w outside its outputs\n", built_at(line)));
}

// What the caller lends is not the program's to write; nor is an output that is done.
TEST(Debug, NamesAnInputThatAStepChanged) {
  static const Op op = planted("greedy_of_inputs", lower_greedy);
  Expr x = vector("x", {2}), y = vector("y", {2});
  int line = __LINE__ + 1;
  Expr z = apply(op, {x, y});
  Function f = debugged({x, y}, {z});
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({1.0, 2.0}), Tensor::vector({3.0, 4.0})});
            }),
            str("error: debug: step 0 (greedy_of_inputs) changed the input y outside its outputs\n", built_at(line)));
}

TEST(Debug, NamesAnOutputThatALaterStepChanged) {
  static const Op op = planted("greedy_of_outputs", lower_greedy);
  Expr x = vector("x", {2}), first = exp(x);
  int line = __LINE__ + 1;
  Expr second = apply(op, {x, first});
  Function f = debugged({x}, {first, second});
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({1.0, 2.0})});
            }),
            str("error: debug: step 1 (greedy_of_outputs) changed output 0 outside its outputs\n", built_at(line)));
}

// Nothing that a program does not read is among its arguments.
TEST(Debug, EveryReadOfASharedVariableMayBeRewrittenAway) {
  Shared w(Tensor::vector({1.0, -2.0}), "w"), v(Tensor::vector({3.0, 4.0}), "v");
  Function compares = debugged({}, {lt(w, w)}), multiplies = debugged({}, {0 * w.expr() + v.expr()});
  EXPECT_FALSE(compares({})[0].at<bool>({1}));
  EXPECT_EQ(multiplies({})[0].at<double>({1}), 4);
  Function both = debugged({}, {lt(w, w), v.expr() * 2}, {{v, v.expr() + 0 * w.expr()}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(both({})[1].at<double>({0}), 6);
}

// ---- float32: bounds follow dtypes and magnitudes -------------------------------------------------------------------

Tensor drawn_floats(const Shape& shape, uint64_t seed) {
  RandomState random(static_cast<int64_t>(seed));
  return Tensor::of(random.uniform(-1, 1, static_cast<size_t>(element_count(shape))), shape).cast(DType::kFloat32);
}

TEST(Debug, Float64ResultsOfFloat32FunctionsPass) {
  Expr x = tensor("x", {40, 7}, DType::kFloat32);
  Function f = debugged({x}, {sum(cast(log(softmax(x)), DType::kFloat64)), mean(cast(exp(x), DType::kFloat64)) * 3});
  for (uint64_t seed = 0; seed < 5; ++seed) f({drawn_floats({40, 7}, seed)});
}

TEST(Debug, SumsThatCancelPass) {
  Expr x = tensor("x", {500}, DType::kFloat32), y = vector("y", {500});
  Function f = debugged({x, y}, {sum(x) - sum(sqr(x) + x), sum(y * 1e8) + sum(1e8 * (1 - y)) - 5e10});
  for (uint64_t seed = 0; seed < 5; ++seed)
    f({drawn_floats({500}, seed), drawn_floats({500}, seed).cast(DType::kFloat64)});
}

TEST(Debug, AGradientOfSoftmaxPasses) {
  Expr x = tensor("x", {6, 9}, DType::kFloat32), t = tensor("t", {6, 9}, DType::kFloat32);
  Expr cost = sum(t * log(softmax(x))) + sum(sqr(softmax(x)));
  Function f = debugged({x, t}, {cost, grad(cost, x)});
  for (uint64_t seed = 0; seed < 5; ++seed) f({drawn_floats({6, 9}, seed), drawn_floats({6, 9}, seed + 10)});
}

// What a finite-math rule forgets is documented: a note, and no difference.
TEST(Debug, NotesWhatAFiniteMathRuleForgot) {
  Expr x = vector("x", {3});
  int line = __LINE__ + 1;
  Expr y = x * 0;
  std::vector<std::string> notes;
  Function f = function({x}, {y + 1}, {},
                        {.mode = Mode::kDebug, .on_note = [&](const std::string& note) { notes.push_back(note); }});
  Tensor got = f({Tensor::vector({1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})})[0];
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(got.as_double(i), 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], str("debug: note: the rule mul_by_zero forgot an infinity or a NaN: mul(x, 0) became broadcast_to"
                          "(0), built at ",
                          __FILE__, ":", line));
}

TEST(Debug, ShowsANoteOnce) {
  Expr x = vector("x", {1});
  Expr y = 0 / x;
  Function f = debugged({x}, {y}), g = debugged({x}, {y});
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) f({Tensor::vector({0.0})}), g({Tensor::vector({0.0})});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("debug: note: the rule zero_over forgot an infinity or a NaN: ")) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

// On infinities and NaN: exact rules keep them, the others speak of finite values.
TEST(Debug, InfinitiesAndNaNPass) {
  Expr x = vector("x", {7}), y = vector("y", {7});
  const double inf = INFINITY;
  Function f = function({x, y},
                        {pow(x, 0.5), x / (1 / y), 0 / x, switch_(gt(x, 0), 0, y) / x, x - x, exp(x) / (1 + exp(x)),
                         (x + 1) + 2, log(1 + exp(x))},
                        {}, {.mode = Mode::kDebug, .on_note = [](const std::string&) {}});
  f({Tensor::vector({-inf, inf, static_cast<double>(NAN), 0.0, -0.0, 1e308, -3.0}),
     Tensor::vector({1.0, 0.0, -0.0, inf, static_cast<double>(NAN), 1e-308, 2.0})});
}

// ---- mutants: what is wrong by a sign, a factor of 1.01 or one element is named, in float32 too -------------------

// A wrong version of `right`, computed as such: kernels and references that differ.
struct Mutant {
  const char* name;
  Expr (*right)(const Expr& x, const Expr& y);
  Expr (*wrong)(const Expr& x, const Expr& y);
};

// Without its first element, times the rest of the sum.
Expr without_first(const Expr& x) {
  return subtensor(x, {Slice{.start = 1}});
}

const std::vector<Mutant>& mutants() {
  using E = const Expr&;
  static const std::vector<Mutant> out{
      {"sign_of_term", [](E x, E y) { return x - y; }, [](E x, E y) { return x + y; }},
      {"sign", [](E x, E) { return -x; }, [](E x, E) { return x * 1; }},
      {"factor_of_exp", [](E x, E) { return exp(x); }, [](E x, E) { return 1.01 * exp(x); }},
      {"factor_inside", [](E x, E) { return tanh(x); }, [](E x, E) { return tanh(1.01 * x); }},
      {"factor_of_sum", [](E x, E) { return sum(sqr(x)); }, [](E x, E) { return 1.01 * sum(sqr(x)); }},
      {"element_of_sum", [](E x, E) { return sum(sqr(x)); }, [](E x, E) { return sum(sqr(without_first(x))); }},
      {"element_of_max", [](E x, E) { return max(x); }, [](E x, E) { return min(x); }},
      {"factor_of_product", [](E x, E y) { return dot(x, y); }, [](E x, E y) { return 1.01 * dot(x, y); }},
      {"element_of_product", [](E x, E y) { return dot(x, y); },
       [](E x, E y) { return dot(without_first(x), without_first(y)); }},
      {"softmax_by_maximum", [](E x, E) { return softmax(x); }, [](E x, E) { return softmax(1.01 * x); }},
      {"sum_of_softmax", [](E x, E) { return exp(x) / sum(exp(x)); },
       [](E x, E) { return exp(x) / (0.99 * sum(exp(x))); }},
      {"mean_count", [](E x, E) { return mean(x * x); }, [](E x, E) { return sum(x * x) / (length(x, 0) - 1); }},
  };
  return out;
}

class DebugNames : public testing::TestWithParam<std::tuple<Mutant, DType>> {};

// The pass that makes the wrong one of the right one, on the graph's inputs.
const Mutant* planted_mutant = nullptr;
bool is_noted = false;
Graph plant(const Graph& graph, const PassContext& context) {
  Graph out = graph;
  out.outputs[0] = cast(planted_mutant->wrong(graph.inputs[0], graph.inputs[1]), graph.outputs[0].dtype());
  if (is_noted) context.note("plant", planted_mutant->name, graph.outputs[0], out.outputs[0]);
  return out;
}

TEST_P(DebugNames, AWrongRuleAndAWrongPass) {
  const auto& [mutant, dtype] = GetParam();
  planted_mutant = &mutant;
  Expr x = tensor("x", {37}, dtype), y = tensor("y", {37}, dtype);
  const Tensor a = drawn_floats({37}, 1).cast(dtype), b = drawn_floats({37}, 2).cast(dtype);
  const Graph graph{.inputs = {x, y}, .outputs = {mutant.right(x, y)}, .updates = {}};
  for (bool noted : {true, false}) {
    is_noted = noted;
    const std::string text = fault_text([&] {
      check_rewrites({graph, {{x, a}, {y, b}}, {}, {.extra = {{"plant", "", plant}}}});
    });
    const std::string begin = noted
                                  ? str("error: debug: the rule ", mutant.name, " of the pass plant changes a value\n")
                                  : "error: debug: the pass plant changes output 0\n";
    EXPECT_TRUE(text.starts_with(begin)) << text;
  }
}

// The same as an op: the reference is the right one, the kernel the wrong one.
std::vector<Tensor> right_reference(const ReferenceArgs& a) {
  return a.run_body(*a.node.bodies[0], a.inputs);
}

// The loop's body is not the one that the reference runs: each step is right, the result is not.
const Op& op_of_two_bodies() {
  static const Op op{.name = "planted",
                     .doc = {},
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.bodies[0]->outputs[0].type()}; },
                     .reference = right_reference,
                     .lower_region =
                         [](kernel::RegionBuilder& b) {
                           std::vector<kernel::RegionValue> given;
                           for (size_t i = 0; i < b.node().inputs.size(); ++i) given.push_back(b.input(i));
                           b.body(*b.node().bodies[1], given, std::vector{b.output(0)});
                         }};
  return op;
}

TEST(Debug, NamesAWrongOutput) {
  auto body = [](double factor) {
    auto out = std::make_shared<Graph>();
    out->inputs = {vector("x", {2})};
    out->outputs = {out->inputs[0] * factor};
    return out;
  };
  Expr x = vector("x", {2});
  int line = __LINE__ + 1;
  Expr y(make_node(op_of_two_bodies(), {x}, {}, {body(2), body(3)}));
  Function f = debugged({x}, {y});
  EXPECT_EQ(fault_text([&] {
              f({Tensor::vector({0.0, 5.0})});
            }),
            str("error: debug: native code and reference differ in output 0\n"
                "  got:      at [1]: 15, expected 10, bound 1.8e-14\n",
                built_at(line)));
}

class DebugNamesKernel : public testing::TestWithParam<Mutant> {};

TEST_P(DebugNamesKernel, WhoseResultsAreWrong) {
  const Type type{.dtype = DType::kFloat32, .dims = {37}};
  auto body_of = [&](Expr (*make)(const Expr&, const Expr&), DType dtype) {
    auto body = std::make_shared<Graph>();
    body->inputs = {make_input(type, "x"), make_input(type, "y")};
    body->outputs = {cast(make(body->inputs[0], body->inputs[1]), dtype)};
    return body;
  };
  auto right = body_of(GetParam().right, DType::kFloat32), wrong = body_of(GetParam().wrong, DType::kFloat32);
  Expr x = make_input(type, "x"), y = make_input(type, "y");
  Function f = debugged({x, y}, {Expr(make_node(op_of_two_bodies(), {x, y}, {}, {right, wrong}))});
  const std::string text = fault_text([&] { f({drawn_floats({37}, 1), drawn_floats({37}, 2)}); });
  EXPECT_TRUE(text.starts_with("error: debug: native code and reference differ in output 0\n")) << text;
}

INSTANTIATE_TEST_SUITE_P(Mutants, DebugNamesKernel, testing::ValuesIn(mutants()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Mutants, DebugNames,
                         testing::Combine(testing::ValuesIn(mutants()),
                                          testing::Values(DType::kFloat32, DType::kFloat64)),
                         [](const auto& info) {
                           return str(std::get<0>(info.param).name, "_", name_of(std::get<1>(info.param)));
                         });

TEST(Debug, WatchShowsTheStepsOfEachIteration) {
  Expr x = vector("x", {3});
  const Expr last = repeat(5, {x}, [](const std::vector<Expr>& s) { return std::vector<Expr>{tanh(s[0]) + 1}; })[0];
  Function f = function({x}, {last});
  size_t after = 0;
  const Tensor given = Tensor::vector({0.0, 1.0, 2.0});
  f.watch(std::vector<Tensor>{given}, [&](const StepEvent& event) { after += event.after && event.node != nullptr; });
  EXPECT_EQ(after, 5u);
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
}  // namespace thtrain::debug_test
