#include "compiler/ir/graph_difference.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/api.h"
#include "compiler/passes/pipeline.h"

namespace thtrain {
namespace {

const Type kMatrix{.dtype = DType::kFloat32, .dims = {3, 4}};

TEST(GraphDifference, EqualGraphsHaveNone) {
  Expr x = make_input(kMatrix, "x");
  Graph before{{x}, {tanh(x) * tanh(x)}, {}}, same{{x}, {tanh(x) * tanh(x)}, {}};
  StableNumbers numbers(before);
  GraphDifference difference = graph_difference(before, before, numbers);
  EXPECT_TRUE(difference.empty());
  EXPECT_EQ(difference.same, 4u);
  // Built twice, the same lines.
  EXPECT_EQ(graph_difference(before, same, numbers).text, "");
  EXPECT_EQ(numbers.next, 4u);
}

TEST(GraphDifference, AChangeDoesNotRunThroughItsReaders) {
  Expr x = make_input(kMatrix, "x"), y = make_input(kMatrix, "y");
  auto around = [&](const Expr& middle) { return exp(tanh(middle) + y); };
  Graph before{{x, y}, {around(-(-x))}, {}}, after{{x, y}, {around(abs(x))}, {}};
  StableNumbers numbers(before);
  GraphDifference difference = graph_difference(before, after, numbers);
  EXPECT_EQ("\n" + difference.text, R"(
- %2 = neg(%0) : float32[3, 4]
- %3 = neg(%2) : float32[3, 4]
+ %3 = abs(%0) : float32[3, 4]
)");
  EXPECT_EQ(difference.removed.size(), 2u);
  EXPECT_EQ(difference.added.size(), 1u);
  EXPECT_EQ(difference.same, 5u);
  // The next graph goes on with these numbers.
  Graph last{{x, y}, {around(abs(sqr(x)))}, {}};
  EXPECT_EQ("\n" + graph_difference(after, last, numbers).text, R"(
+ %7 = sqr(%0) : float32[3, 4]
- %3 = abs(%0) : float32[3, 4]
+ %3 = abs(%7) : float32[3, 4]
)");
}

TEST(GraphDifference, MergedNodesGo) {
  Expr x = make_input(kMatrix, "x");
  Expr one = exp(x), other = exp(x);
  Graph before{{x}, {one + other}, {}}, after{{x}, {one + one}, {}};
  StableNumbers numbers(before);
  EXPECT_EQ("\n" + graph_difference(before, after, numbers).text, R"(
- %2 = exp(%0) : float32[3, 4]
- %3 = add(%1, %2) : float32[3, 4]
+ %3 = add(%1, %1) : float32[3, 4]
)");
}

TEST(GraphDifference, BodiesAreBelowTheirNodesAndUpdatesAtTheEnd) {
  Expr x = make_input(kMatrix, "x");
  Shared w(Tensor::zeros(DType::kFloat32, {3, 4}), "w");
  Graph before{{x}, {}, {{w, w.expr() + exp(x)}}};
  Graph after = optimize(before, {});
  StableNumbers numbers(before);
  EXPECT_EQ("\n" + graph_difference(before, after, numbers).text, R"(
- %2 = exp(%0) : float32[3, 4]
- %3 = add(%1, %2) : float32[3, 4]
+ %3 = fused(%0, %1) : float32[3, 4]
+   body
+     input  %4 x : float32[3, 4]
+     input  %5 w : float32[3, 4]
+     %6 = exp(%4) : float32[3, 4]
+     %7 = add(%5, %6) : float32[3, 4]
+     output  %7
+   end
)");
  // What an output reads may change alone.
  Graph first{{x}, {exp(x), tanh(x)}, {}};
  Graph second{{x}, {first.outputs[0], first.outputs[0]}, {}};
  StableNumbers again(first);
  EXPECT_EQ("\n" + graph_difference(first, second, again).text, R"(
- %2 = tanh(%0) : float32[3, 4]
- output  %2
+ output  %1
)");
}

// Whatever passes do: taking the lines that went from the old text and adding those that came gives the new text.
TEST(GraphDifference, TheLinesThatStayAreInBothGraphs) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {5, 7}}, "x"), b = make_input({.dims = {7}}, "b");
  Expr z = dot(x, transpose(x)), p = exp(-(-z) * 1.0) / (1.0 + exp(z));
  Graph before{{x, b}, {p, sum(log(p)), log(1.0 + exp(cast(b, DType::kFloat32)))}, {}};
  std::vector<PassRecord> records;
  optimize(before, {.without = {}, .keep_graphs = true, .records = &records});
  StableNumbers numbers(before);
  const Graph* last = &before;
  size_t changed = 0;
  for (const PassRecord& record : records) {
    GraphDifference difference = graph_difference(*last, record.after, numbers);
    EXPECT_EQ(difference.same + difference.removed.size(), text_order(*last).size()) << record.name;
    EXPECT_EQ(difference.same + difference.added.size(), text_order(record.after).size()) << record.name;
    std::set<size_t> used;
    for (const Node* node : text_order(record.after))
      EXPECT_TRUE(used.insert(numbers.of.at(node)).second) << record.name << ": two nodes have one number";
    changed += !difference.empty();
    last = &record.after;
  }
  EXPECT_GE(changed, 2u);
}

TEST(ShortText, GoesThreeLevelsDown) {
  Expr x = make_input(kMatrix, "x");
  Expr deep = exp(exp(exp(exp(exp(x)))));
  EXPECT_EQ(short_text(deep, {}), "exp(exp(exp(...)))");
  EXPECT_EQ(short_text(deep, StableNumbers({{x}, {deep}, {}}).of), "exp(exp(%3))");
  EXPECT_EQ(short_text(2.0 * x + 1.0, {}), "add(mul(2, x), 1)");
}

}  // namespace
}  // namespace thtrain
