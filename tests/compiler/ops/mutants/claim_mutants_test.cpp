// Are wrong in-place claims found? Ops claim that they may overwrite an input that they still read, and programs write
// over values that others read later.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/fused_scatter.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "tests/support/fault_text.h"
#include "tests/support/native_program.h"

namespace thtrain {
namespace {

using In1 = const std::vector<Expr>&;

// A value in a buffer of its own, which dies where it is read.
Expr temporary(const Expr& x) {
  return maximum(x, x);
}

// The indices 0, 1, ... n - 1 in another order; floats are one larger, so that a single one is not zero.
Tensor shuffled(DType dtype, const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  const int64_t n = out.size();
  for (int64_t i = 0; i < n; ++i) out.data<double>()[i] = static_cast<double>((i * 7 + 3) % n + is_float(dtype));
  return out.cast(dtype);
}

// x with y at the indices of its first axis, which are different ones, as a mask's are.
Expr replaced(const Expr& x, const Expr& indices, const Expr& y) {
  return scatter_like(take(x, indices).node(), x, y, true);
}

// ---- claims of ops -------------------------------------------------------------------------------------------------

// An op on temporaries, and an input of the result's type that it must not overwrite.
struct WrongClaim {
  std::string name;
  std::vector<Type> inputs;
  std::function<Expr(In1)> build;
  size_t input;
};

// Of products the left side: at sizes that a reference can compute, all of the right side is packed before anything is
// written.
const std::vector<WrongClaim>& wrong_claims() {
  const Type square{.dtype = DType::kFloat64, .dims = {130, 130}}, row{.dtype = DType::kFloat64, .dims = {13}};
  const Type indices{.dtype = DType::kInt64, .dims = {13}}, number{.dtype = DType::kFloat64, .dims = {}};
  auto product = [](In1 in) { return dot(in[0], in[1]); };
  auto gemm = [](In1 in) { return apply(gemm_op(), {in[0], in[3], in[1], in[2], in[3]}); };
  auto loop = [](In1 in) {
    Expr x = make_input(in[0].type(), "x"), at = make_input(in[1].type(), "at");
    auto body = std::make_shared<Graph>(Graph{{x, at}, {sqr(take(x, at))}, {}});
    return (*make_fused(body, {in[0], in[1]}))[0];
  };
  auto ended = [](In1 in) {
    Expr x = make_input(in[0].type(), "x"), y = make_input(in[1].type(), "y");
    auto body = std::make_shared<Graph>(Graph{{x, y}, {sqr(dot(x, y))}, {}});
    return (*make_fused_product(body, {in[0], in[1]}))[0];
  };
  auto whole = [](const Expr& x) { return subtensor(x, {Slice{.step = -1}}); };
  auto stored = [whole](In1 in) {
    Expr x = make_input(in[1].type(), "x");
    auto body = std::make_shared<Graph>(Graph{{x}, {sqr(x)}, {}});
    const std::shared_ptr<const Node> squares = make_fused(body, {in[1]});
    return (*make_fused_scatter(set_subtensor(whole(in[0]), (*squares)[0]).node(), *squares))[0];
  };
  static const std::vector<WrongClaim> table{
      {"dot over its left side", {square, square}, product, 0},
      {"gemm over its left side", {square, square, square, number}, gemm, 2},
      {"a product that ends with more over its left side", {square, square}, ended, 0},
      {"gather over what is taken from", {row, indices}, [](In1 in) { return take(in[0], in[1]); }, 0},
      {"a loop over what it takes from", {row, indices}, loop, 0},
      {"a loop that stores over what it reads", {row, row}, stored, 1},
      {"scatter over what is added", {row, indices, row}, [](In1 in) { return scatter_add(in[0], in[1], in[2]); }, 1},
      {"scatter over what is set", {row, indices, row}, [](In1 in) { return replaced(in[0], in[1], in[2]); }, 1},
      {"inc_subtensor over what is added",
       {row, row},
       [whole](In1 in) { return inc_subtensor(whole(in[0]), in[1]); },
       1},
      {"set_subtensor over what is set", {row, row}, [whole](In1 in) { return set_subtensor(whole(in[0]), in[1]); }, 1},
  };
  return table;
}

// What debug mode says of the op with this claim, or without one.
std::string debugged(const WrongClaim& claim, bool claims) {
  std::vector<Expr> variables, temporaries;
  std::vector<Tensor> values;
  for (const Type& type : claim.inputs) {
    variables.push_back(make_input(type, str("x", variables.size())));
    temporaries.push_back(temporary(variables.back()));
    values.push_back(shuffled(type.dtype, type.known_shape()));
  }
  const Expr value = claim.build(temporaries);
  Op op = *value.node().op;
  op.name = str(op.name, claims ? "_with_claim" : "_without");
  op.fused = false;  // of loops the planner looks at the body
  op.aliases = claims ? std::vector<Alias>{{.output = 0, .input = claim.input}} : std::vector<Alias>{};
  const Expr copy(make_node(op, value.node().inputs, value.node().props, value.node().bodies));
  FunctionOptions options{.mode = Mode::kDebug, .use_cache = false};
  for (const PipelineEntry& entry : pipeline()) options.without.insert(entry.pass.name);
  Function f = function({variables.begin(), variables.end()}, {Out(temporary(copy))}, {}, options);
  return fault_text([&] { f(values); });
}

TEST(ClaimMutants, OfOpsAreCaught) {
  for (const WrongClaim& claim : wrong_claims()) {
    EXPECT_EQ(debugged(claim, false), "no fault") << claim.name;
    EXPECT_TRUE(debugged(claim, true).starts_with("error: debug: native code and reference differ in step"))
        << claim.name << ": " << debugged(claim, true);
  }
  std::cout << "claims of ops: " << wrong_claims().size() << " mutants\n";
}

// ---- values that are read later ------------------------------------------------------------------------------------

// What may be written over x, where nobody reads x any more.
std::vector<std::pair<std::string, Expr>> overwriting(const Expr& x) {
  const Expr labels = make_constant(shuffled(DType::kInt64, {7}));
  return {{"exp", exp(x)},
          {"mul", x * x},
          {"softmax", softmax(x)},
          {"log_softmax", log_softmax(x)},
          {"set_subtensor", set_subtensor(subtensor(x, {Slice{2, 5}}), 100.0)},
          {"inc_subtensor", inc_subtensor(subtensor(x, {Slice{2, 5}}), 100.0)},
          {"scatter_add", scatter_add(x, labels, 100.0)},
          {"scatter_set", replaced(x, make_constant(Tensor::vector({int64_t{5}, int64_t{2}})),
                                   make_constant(Tensor::zeros(DType::kFloat64, {2, 7})))},
          {"scatter_add_rows", scatter_add_rows(x, labels, make_constant(shuffled(DType::kFloat64, {7})))},
          {"gemm", apply(gemm_op(), {x, Operand(1.0).expr(), x, x, Operand(0.5).expr()})}};
}

// Each op writes over its input, which a later step reads.
TEST(ClaimMutants, OfValuesThatAreReadLaterAreCaught) {
  Graph graph;
  std::vector<Tensor> values;
  std::vector<std::string> names;
  for (size_t i = 0; i < overwriting(make_constant(shuffled(DType::kFloat64, {7, 7}))).size(); ++i) {
    graph.inputs.push_back(make_input({.dtype = DType::kFloat64, .dims = {7, 7}}, str("x", i)));
    values.push_back(shuffled(DType::kFloat64, {7, 7}));
    const Expr x = temporary(graph.inputs[i]);
    const auto [name, result] = overwriting(x)[i];
    names.push_back(name);
    graph.outputs.push_back(temporary(result));
    graph.outputs.push_back(temporary(x));
  }
  auto write_over = [](Program& program) {
    std::map<int, int> into;
    for (size_t i = 0; i < program.graph.outputs.size(); i += 2) {
      const Node* result = &program.graph.outputs[i].node().inputs[0].node();
      const Node* x = &program.graph.outputs[i + 1].node().inputs[0].node();
      int from = -1, to = -1;
      for_each_step(program.body, [&](const Step& step) {
        if (step.node == result) from = step.operands[step.inputs].buffer;
        if (step.node == x) to = step.operands[step.inputs].buffer;
      });
      EXPECT_NE(from, to);  // the planner sees the reader
      into[from] = to;
    }
    for (auto& item : program.body.items)
      for (BufferView& operand : std::get<Step>(item).operands)
        if (auto at = into.find(operand.buffer); at != into.end()) operand.buffer = at->second;
  };
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < values.size(); ++i) bound.emplace_back(graph.inputs[i], values[i]);
  const std::vector<Tensor> expected = evaluate(graph.outputs, bound);
  const Target target = usual_width("g++");
  const std::vector<Tensor> right = NativeProgram(graph, target, false)(values),
                            wrong = NativeProgram(graph, target, false, write_over)(values);
  constexpr double kUlps = 64;
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_FALSE(difference(right[2 * i + 1], expected[2 * i + 1], kUlps)) << names[i];
    EXPECT_TRUE(difference(wrong[2 * i + 1], expected[2 * i + 1], kUlps)) << names[i];
  }
  std::cout << "values that are read later: " << names.size() << " mutants\n";
}

}  // namespace
}  // namespace thtrain
