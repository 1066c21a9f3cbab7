#include "compiler/passes/pipeline.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"

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

}  // namespace
}  // namespace thtrain
