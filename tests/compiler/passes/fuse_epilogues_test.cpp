// Matrix products with the loops around them: what is fused, what stays, values, claims.
#include "compiler/passes/fuse_epilogues.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/linalg/gemm_kernel.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/sparse/parts.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/in_place.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/always_chooser.h"
#include "tests/support/native_program.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_epilogues_test {
namespace {

Expr input(DType dtype, Dims dims, const std::string& name) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}
Expr floats(Dims dims, const std::string& name) {
  return input(DType::kFloat32, std::move(dims), name);
}

Graph fused(const std::vector<Expr>& outputs, const std::string& candidate = "tile 4x2x64") {
  const Always chooser(candidate);
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {.chooser = &chooser});
  verify(after, "fuse_epilogues");
  return after;
}

Steps steps(const std::vector<Expr>& outputs, const std::string& candidate = "tile 4x2x64") {
  return steps_of(fused(outputs, candidate));
}

const Expr x = floats({6, 9}, "x"), w = floats({9, 20}, "w"), b = floats({20}, "b"), v = floats({9, 20}, "v"),
           d = floats({6, 20}, "d"), rate = floats({}, "rate");

TEST(FuseEpilogues, TakeInWhatFollows) {
  EXPECT_EQ(steps({tanh(dot(x, w) + b)}), Steps{"fused_product"});
  EXPECT_EQ(steps({maximum(dot(x, w) + b, 0.0)}), Steps{"fused_product"});
  EXPECT_EQ(steps({d * (dot(x, w) - sqr(d))}), Steps{"fused_product"}) << "values of the same element";
  Expr h = tanh(dot(x, w));
  EXPECT_EQ(steps({h, 1.0 - sqr(h)}), Steps{"fused_product"}) << "two results";
  EXPECT_EQ(steps({tanh(dot(transpose(w), transpose(x)))}), Steps{"fused_product"}) << "factors may be views";
}

TEST(FuseEpilogues, OfSparseMatrices) {
  const Expr data = floats({"stored"}, "data"), indices = tensor("indices", {"stored"}, DType::kInt32),
             indptr = tensor("indptr", {7}, DType::kInt32);
  EXPECT_EQ(steps({tanh(csr_dot(data, indices, indptr, w) + b)}), Steps{"fused_csr_dot"});
  EXPECT_EQ(steps({tanh(csr_dot(data, indices, indptr, d, {9}) + b)}), (Steps{"csr_dot", "fused"})) << "A^T d";
  EXPECT_EQ(steps({tanh(csr_dot(data, indices, indptr, floats({9, "n"}, "any")))}), (Steps{"csr_dot", "fused"}));
  EXPECT_EQ(steps({tanh(csr_dot(data, indices, indptr, floats({9}, "vector")))}), (Steps{"csr_dot", "fused"}));
}

TEST(FuseEpilogues, OfBatches) {
  const Expr many = floats({5, 6, 9}, "many"), factors = floats({5, 9, 20}, "factors"),
             shift = floats({5, 1, 20}, "shift"), narrow = floats({5, 9, 10}, "narrow");
  EXPECT_EQ(steps({tanh(matmul(many, factors) + shift)}), Steps{"fused_product"});
  EXPECT_EQ(steps({matmul(many, factors) * b + shift}), Steps{"fused_product"});
  EXPECT_EQ(steps({tanh(matmul(many, matrix_transpose(floats({5, 20, 9}, "stored"))))}), Steps{"fused_product"});
  EXPECT_EQ(steps({tanh(matmul(many, narrow))}), (Steps{"batched_dot", "fused"})) << "lanes without elements";
  const Expr unknown = floats({"n", 6, 9}, "unknown");
  EXPECT_EQ(steps({tanh(matmul(unknown, floats({"n", 9, 20}, "others")))}), (Steps{"batched_dot", "fused"}));
}

TEST(FuseEpilogues, TakeInWhatComesBefore) {
  EXPECT_EQ(steps({0.9 * v + rate * dot(transpose(x), d)}), Steps{"gemm"}) << "a gemm is that by itself";
  EXPECT_EQ(steps({0.9 * v + 0.1 * w + rate * dot(transpose(x), d)}), Steps{"fused_product"});
  Expr velocity = 0.9 * v + rate * dot(transpose(x), d);
  const Graph graph = fused({velocity, w + velocity});
  EXPECT_EQ(steps_of(graph), Steps{"fused_product"});
  EXPECT_EQ(graph.outputs[0].node().bodies[0]->outputs.size(), 2u);
}

TEST(FuseEpilogues, AreOneToAKernel) {
  Expr u = floats({9, 20}, "u");
  EXPECT_EQ(steps({tanh(tanh(dot(x, w)) + tanh(dot(x, u)))}), (Steps{"dot", "fused_product"}));
  Expr two = floats({20, 20}, "two"), h = tanh(dot(d, two));
  EXPECT_EQ(steps({h * dot(h, two)}), (Steps{"fused_product", "fused_product"}))
      << "what a product multiplies is computed before";
}

TEST(FuseEpilogues, Stay) {
  const Steps alone{"dot", "fused"};
  EXPECT_EQ(steps({dot(x, w)}), Steps{"dot"}) << "nothing around it";
  EXPECT_EQ(steps({tanh(dot(x, w) + b)}, "library"), alone) << "a library's product";
  EXPECT_EQ(steps({tanh(dot(x, w) + b)}, "oneDNN"), alone);
  EXPECT_EQ(steps_of(optimize({{x, w, b}, {tanh(dot(x, w) + b)}, {}}, {})), alone) << "nobody chooses";
  EXPECT_EQ(steps({tanh(dot(floats({"n", 9}, "y"), w) + b)}), alone) << "a length that only the call knows";
  EXPECT_EQ(steps({tanh(dot(x, w) + b)}, "tile 12x2x64"), Steps{"fused_product"});
  EXPECT_EQ(steps({sum(tanh(dot(x, w)), 0)}), (Steps{"dot", "fused_reduction"})) << "slices took the elements";
  EXPECT_EQ(steps({tanh(dot(x, w) + input(DType::kFloat64, {20}, "wide"))}), (Steps{"dot", "fused"})) << "fewer lanes";
  EXPECT_EQ(steps({dot(x, w) + floats({3, 6, 20}, "stack")}), (Steps{"dot", "fused"})) << "another domain";
  // Sums of 5,000 rows would have to wait for the last slab.
  EXPECT_EQ(steps({tanh(dot(floats({5000, 4096}, "many"), floats({4096, 20}, "u")))}), (Steps{"dot", "fused"}));
}

TEST(FuseEpilogues, AskWhatTheLoweringWillAsk) {
  const Always chooser("tile 4x2x64");
  Expr velocity = 0.9 * v - rate * dot(transpose(x), d);
  Graph graph =
      optimize({leaves_of(std::vector{velocity, w}), {w + velocity, tanh(dot(x, w))}, {}}, {.chooser = &chooser});
  const std::vector<std::string> asked = chooser.asked;
  plan(graph, {}, {.chooser = &chooser});
  for (const std::string& question : chooser.asked)
    EXPECT_NE(std::find(asked.begin(), asked.end(), question), asked.end()) << question;
}

TEST(FuseEpilogues, TwiceChangesNothing) {
  const Always chooser("tile 4x2x64");
  const Graph once = fused({tanh(dot(x, w) + b), 0.9 * v - rate * dot(transpose(x), d)});
  EXPECT_TRUE(same_graph(once, fuse_epilogues(once, {.chooser = &chooser})));
}

TEST(FuseEpilogues, WriteOverWhatIsReadByElementOnly) {
  Expr square = floats({8, 8}, "square"), other = floats({8, 8}, "other"), c = floats({8, 8}, "c");
  // `square` is read in both ways: as two inputs of the body.
  const Graph graph = fused({tanh(dot(square, other) * square) + c});
  const Node& node = graph.outputs[0].node();
  std::vector<std::string> names;
  std::vector<bool> may;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    names.push_back(node.inputs[i].name());
    may.push_back(may_overwrite(node, 0, i));
  }
  EXPECT_EQ(names, (Steps{"square", "other", "square", "c"}));
  EXPECT_EQ(may, (std::vector<bool>{false, false, true, true}));
}

// ---- values --------------------------------------------------------------------------------------------------------

// Layers, optimizers and what else ends a product, in sizes around those of blocks, tiles and slabs.
std::vector<Expr> everything(DType dtype, int64_t m, int64_t k, int64_t n) {
  auto given = [&](Dims dims, const char* name) { return input(dtype, std::move(dims), str(name, m)); };
  Expr x = given({m, k}, "x"), w = given({k, n}, "w"), b = given({n}, "b"), d = given({m, n}, "d"),
       v = given({k, n}, "v"), column = given({m, 1}, "column"), rate = given({}, "rate");
  Expr momentum = rate * v - 0.01 * dot(transpose(x), d);
  return {tanh(dot(x, w) + b), dot(d, transpose(w)) * x + column, momentum, w + momentum,
          switch_(gt(dot(x, w), b), d, 0.0)};
}

TEST(FuseEpilogues, ValuesWithEveryCompilerAndWidth) {
  std::vector<Expr> outputs;
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (auto [m, k, n] : {std::array<int64_t, 3>{7, 33, 21}, {13, 70, 64}, {2, 130, 3}})
      for (const Expr& e : everything(dtype, m + (dtype == DType::kFloat64), k, n)) outputs.push_back(e);
  const Graph graph = fused(outputs);
  for (const std::string& step : steps_of(graph)) EXPECT_EQ(step, "fused_product");
  std::vector<std::pair<Expr, Tensor>> bound;
  std::vector<Tensor> values;
  for (const Expr& leaf : graph.inputs) {
    values.push_back(numbers(leaf.type(), values.size()));
    bound.emplace_back(leaf, values.back());
  }
  const std::vector<Tensor> expected = evaluate(graph.outputs, bound);
  for (const Target& target : all_targets()) {
    if (!why_not(target).empty()) continue;
    const std::vector<Tensor> got = NativeProgram(graph, target, false)(values);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(difference(got[i], expected[i], 256), std::nullopt) << target.text() << " " << i;
  }
}

// A step of training, by what the rule chooses: tiles in slabs, or by rows where the weights are large.
void expect_steps_with_momentum(DType dtype, int64_t m, int64_t k, int64_t n) {
  struct Step {
    Function run;
    Shared weights, velocity;
  };
  auto make = [&](Mode mode) {
    RandomState random(5);
    auto variable = [&](Shape shape, const char* name, double scale) {
      const auto size =
          static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
      return Shared(Tensor::of(random.normal(0, scale, size), shape).cast(dtype), name);
    };
    Shared weights = variable({k, n}, "W", 0.05), bias = variable({n}, "b", 0.1), velocity = variable({k, n}, "v", 0);
    Expr x = input(dtype, {m, k}, "x"), h = tanh(dot(x, weights) + bias), cost = mean(sqr(h - 0.25));
    std::vector<Expr> gradients = grad(cost, {weights, bias});
    Expr moved = 0.9 * velocity - 0.5 * gradients[0];
    return Step{
        function({x}, {cost}, {{velocity, moved}, {weights, weights + moved}, {bias, bias - 0.5 * gradients[1]}},
                 {.mode = mode, .threads = 2, .tune = Tune::kNever}),
        weights, velocity};
  };
  Step native = make(Mode::kNative), reference = make(Mode::kReference), checked = make(Mode::kDebug);
  const bool is_ours =
      gemm_tiling_named(
          find_computation("matrix_product")->rule(key_of({dtype, k, n, m, true, false, true}), machine(), 2, 0))
          .has_value();
  EXPECT_EQ(native.run.explain().fused.find("fused_product") != std::string::npos, is_ours);
  const Tensor data = numbers({.dtype = dtype, .dims = {m, k}}, 9);
  checked.run({data});
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(difference(native.run({data})[0], reference.run({data})[0], 1024), std::nullopt);
  EXPECT_EQ(difference(native.weights.get_value(), reference.weights.get_value(), 4096), std::nullopt);
  EXPECT_EQ(difference(native.velocity.get_value(), reference.velocity.get_value(), 4096), std::nullopt);
}

TEST(FuseEpilogues, StepsOfTrainingWithMomentum) {
  expect_steps_with_momentum(DType::kFloat32, 60, 784, 100);
  expect_steps_with_momentum(DType::kFloat64, 20, 601, 1000);
}

}  // namespace
}  // namespace thtrain::fuse_epilogues_test
