#include "compiler/passes/pipeline.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/passes/rules.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Graph noting(const Graph& graph, const PassContext& context) {
  context.note("another name", "nothing", graph.outputs[0], graph.outputs[0], Safety::kExact);
  return graph;
}

TEST(Pipeline, RewritesAreUnderThePassThatRan) {
  Expr x = vector("x");
  std::vector<Fired> fired;
  std::vector<PassRecord> records;
  optimize({{x}, {exp(-(-x))}, {}}, {.without = {},
                                     .extra = {{"mine", "x -> x", noting}},
                                     .keep_graphs = true,
                                     .fired = &fired,
                                     .records = &records});
  ASSERT_GE(fired.size(), 2u);
  EXPECT_EQ(fired[0].pass, "mine");
  EXPECT_EQ(fired[0].rule, "nothing");
  EXPECT_EQ(fired[1].pass, "canonicalize");
  ASSERT_EQ(records.size(), pipeline().size() + 1);
  EXPECT_EQ(records[0].name, "mine");
  EXPECT_EQ(records[0].what, "x -> x");
  EXPECT_EQ(records[1].what, pipeline()[0].pass.what);
}

// log(1 + exp(x)): with both rules it is a softplus.
TEST(Pipeline, SingleRulesAreLeftOut) {
  Expr x = vector("x");
  auto result = [&](std::set<std::string> without) {
    without.insert("fuse_elementwise");
    std::vector<Fired> fired;
    const Graph out = optimize({{x}, {log(1 + exp(x))}, {}}, {.without = without, .fired = &fired});
    for (const Fired& rewrite : fired) EXPECT_FALSE(without.contains(rewrite.rule)) << rewrite.rule;
    return out.outputs[0].node().op->name;
  };
  EXPECT_EQ(result({}), "softplus");
  EXPECT_EQ(result({"log1p_of_exp"}), "log1p");
  EXPECT_EQ(result({"stabilize"}), "log");
  EXPECT_NE(pipeline_text({}), pipeline_text({.without = {"log1p_of_exp"}})) << "the key of a finished program";
  std::set<std::string> names;
  for (const PipelineEntry& entry : pipeline()) EXPECT_TRUE(names.insert(entry.pass.name).second) << entry.pass.name;
  for (const Rule* rule : all_rules()) EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
}

TEST(Pipeline, NamesOfNoPassAndNoRule) {
  Expr x = vector("x");
  const std::string passes =
      "  expected: a rule that `thtrain explain --stage=passes` counts, or a pass: choose_gradients, "
      "solve_for_inverses, drop_gradient_ops, inline_calls, place_values, "
      "merge, constant_fold, canonicalize, stabilize, constant_fold_again, merge_loops, trim_loops, hoist_from_loops, "
      "batch_loops, find_gemm, fuse_matvec_update, read_starts, fuse_reductions, fuse_pooling, fuse_layers, "
      "fuse_epilogues, fuse_elementwise, fuse_scatters";
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    auto text = [&](const char* name) {
      return text_without_node([&] { function({x}, {x * 2}, {}, {.mode = mode, .without = {name}}); });
    };
    EXPECT_EQ(text("log1p_of_expp"), str("error: there is no pass and no rule named log1p_of_expp\n", passes,
                                         "\n  hint:     did you mean log1p_of_exp?"));
    EXPECT_EQ(text("qqqqqqqqqq"), str("error: there is no pass and no rule named qqqqqqqqqq\n", passes));
  }
}

}  // namespace
}  // namespace thtrain
