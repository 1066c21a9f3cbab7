// Loops that store their results into a part of another value: what is fused, what stays, values, errors, memory.
#include "compiler/passes/fuse_scatters.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/in_place.h"
#include "tests/support/error_text.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_scatters_test {
namespace {

Expr floats(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat32, .dims = std::move(dims)}, name);
}
Expr indices(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kInt64, .dims = std::move(dims)}, name);
}

Graph fused(const std::vector<Expr>& outputs) {
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {});
  verify(after, "fuse_scatters");
  return after;
}

Steps steps(const std::vector<Expr>& outputs) {
  return steps_of(fused(outputs));
}

const Expr w = floats({9, 20}, "w"), d = floats({4, 20}, "d"), b = floats({20}, "b"), p = floats({4, 7}, "p"),
           v = floats({4}, "v"), rate = floats({}, "rate");
const Expr which = indices({4}, "which");

Expr middle(const Expr& x) {
  return subtensor(x, {Slice{2, 6}});
}

TEST(FuseScatters, StoreWhatALoopComputes) {
  const Steps one{"fused_scatter"};
  EXPECT_EQ(steps({scatter_add(w, which, tanh(d))}), one);
  EXPECT_EQ(steps({scatter_add(w, which, tanh(d) * b)}), one) << "any number of inputs";
  EXPECT_EQ(steps({scatter_add_rows(p, which, sqr(v) + v)}), one);
  EXPECT_EQ(steps({inc_subtensor(p[{which, which}], sqr(v) + v)}), one) << "two indices for each element";
  EXPECT_EQ(steps({set_subtensor(middle(w), tanh(d))}), one);
  EXPECT_EQ(steps({inc_subtensor(middle(w), d * rate + b)}), one);
  EXPECT_EQ(steps({set_subtensor(rows(w, take(which, 1), 4), tanh(d))}), one) << "where only the data decides";
  EXPECT_EQ(steps({set_subtensor(middle(tanh(w)), sqr(d))}), (Steps{"fused", "fused_scatter"}));
}

TEST(FuseScatters, Stay) {
  EXPECT_EQ(steps({scatter_add(w, which, d)}), Steps{"scatter"}) << "no loop";
  Expr y = tanh(d);
  EXPECT_EQ(steps({scatter_add(w, which, y), y}), (Steps{"fused", "scatter"})) << "it is a result too";
  EXPECT_EQ(steps({scatter_add(w, which, y), dot(y, b)}), (Steps{"fused", "scatter", "dot"})) << "another reader";
  Expr square = floats({4, 4}, "square");
  EXPECT_EQ(steps({set_subtensor(subtensor(square, {Slice{0, 2}}), tanh(subtensor(square, {Slice{2, 4}})))}),
            (Steps{"fused", "inc_subtensor"}))
      << "it reads the value that is written into";
  EXPECT_EQ(steps({scatter_add(w, which, sqr(take(w * 2.0, which)))}).back(), "scatter") << "it gathers";
  EXPECT_EQ(steps({scatter_add(w, which, softmax(d))}), (Steps{"fused_reduction", "scatter"})) << "slices";
}

TEST(FuseScatters, TwiceChangesNothing) {
  const Graph once = fused({scatter_add(w, which, tanh(d))});
  EXPECT_TRUE(same_graph(once, fuse_scatters(once, {})));
}

TEST(FuseScatters, WriteOverTheFirstInputOnly) {
  Expr square = floats({4, 20}, "square");
  const Graph graph = fused({scatter_add(square, which, tanh(d))});
  const Node& node = graph.outputs[0].node();
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_TRUE(may_overwrite(node, 0, 0));
  for (size_t i : {1, 2}) EXPECT_FALSE(may_overwrite(node, 0, i)) << i;
}

// ---- values --------------------------------------------------------------------------------------------------------

// An embedding's step, a row of a history, the gradient of labels: variables updated in place.
TEST(FuseScatters, UpdatesOfVariables) {
  struct Step {
    Function run;
    std::vector<Shared> variables;
  };
  const Expr at = make_input({.dtype = DType::kInt64, .dims = {}}, "at"), gradient = floats({6, 33}, "gradient"),
             which = indices({6}, "which"), labels = indices({40}, "labels"), scale = floats({40}, "scale"),
             row = floats({33}, "row");
  const std::vector<Expr> inputs{at, gradient, which, labels, scale, row};
  auto make = [&](Mode mode) {
    auto variable = [](Dims dims, const char* name) {
      return Shared(numbers({.dtype = DType::kFloat32, .dims = std::move(dims)}, 7), name);
    };
    Shared embedding = variable({50, 33}, "E"), history = variable({8, 33}, "H"), scores = variable({40, 5}, "S");
    return Step{function({inputs.begin(), inputs.end()}, {},
                         {{embedding, scatter_add(embedding, which, -0.1 * gradient)},
                          {history, set_subtensor(subtensor(history, {at}), tanh(row))},
                          {scores, scatter_add_rows(scores, labels, sqr(scale) - scale)}},
                         {.mode = mode, .threads = 2}),
                {embedding, history, scores}};
  };
  Step native = make(Mode::kNative), reference = make(Mode::kReference), checked = make(Mode::kDebug);
  const Explanation explained = native.run.explain();
  size_t count = 0;
  for (size_t i = 0; (i = explained.fused.find(" = fused_scatter(", i)) != std::string::npos; ++i) ++count;
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(native.run.info().arena_bytes, 0) << "nothing is computed besides, nothing copied";
  std::vector<Tensor> values;
  for (const Expr& e : inputs) values.push_back(numbers(e.type(), 3));
  for (Step* step : {&native, &reference, &checked})
    for (int i = 0; i < 2; ++i) step->run(values);
  for (size_t i = 0; i < native.variables.size(); ++i) {
    const Tensor expected = reference.variables[i].get_value();
    EXPECT_EQ(difference(native.variables[i].get_value(), expected, 4), std::nullopt) << i;
    EXPECT_EQ(difference(checked.variables[i].get_value(), expected, 4), std::nullopt) << i;
  }
}

TEST(FuseScatters, ABadIndexIsTheSameErrorAndWritesNothing) {
  std::vector<std::string> said;
  for (bool fuse : {true, false}) {
    Shared embedding(numbers({.dtype = DType::kFloat32, .dims = {9, 20}}, 1), "E");
    const Tensor before = embedding.get_value();
    FunctionOptions options;
    if (!fuse) options.without = {"fuse_scatters"};
    Function f = function({which, d}, {}, {{embedding, scatter_add(embedding, which, tanh(d))}}, options);
    said.push_back(text_without_node([&] {
      f({Tensor::of(std::vector<int64_t>{1, 2, 9, 3}, {4}), numbers(d.type(), 2)});
    }));
    EXPECT_EQ(difference(embedding.get_value(), before, 0), std::nullopt);
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_TRUE(said[0].starts_with("error: scatter_add: the index 9 is outside axis 0")) << said[0];
}

}  // namespace
}  // namespace thtrain::fuse_scatters_test
