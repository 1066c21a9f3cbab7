// Expressions on other values, and the shapes of values.
#include "compiler/ops/clone_replace.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_text.h"

namespace thtrain::clone_replace_test {
namespace {

TEST(CloneReplace, PutsValuesInThePlaceOfOthers) {
  const Expr x = scalar("x"), y = scalar("y"), inner = exp(x), cost = inner * y + x;
  const std::vector<Expr> got = clone_replace({cost, y}, {{x, y}, {y, x}, {inner, 2 * x}});
  const std::vector<Tensor> values = evaluate(got, {{x, Tensor(3.0)}, {y, Tensor(5.0)}});
  EXPECT_EQ(values[0].as_double(), 6 * 3 + 5);
  EXPECT_EQ(values[1].as_double(), 3);
  EXPECT_TRUE(clone_replace(cost, {}).same(cost));
}

TEST(CloneReplace, ReachesWhatLoopsRead) {
  const Expr x = vector("x", {3}), c = scalar("c");
  const Expr y = map([&](const Expr& e) { return e * c; }, {.sequences = {x}}).outputs;
  const Expr got = clone_replace(y, {{c, make_constant(Tensor(10.0))}});
  EXPECT_EQ(evaluate({got}, {{x, Tensor::vector({1.0, 2.0, 3.0})}})[0].text(), "[10, 20, 30]");
}

TEST(CloneReplace, TakesOtherLengthsAndNoOtherTypes) {
  const Expr x = vector("x", {3}), longer = vector("y", {5});
  EXPECT_EQ(clone_replace(tanh(x), {{x, longer}}).type().text(), "float64[5]");
  EXPECT_EQ(text_without_node([&] {
              clone_replace(tanh(x), {{x, scalar("s")}});
            }),
            "error: clone_replace: the replacement has another dtype or rank\n  expected: x float64[3]\n"
            "  got:      s float64[]");
}

TEST(ShapesOf, FollowFromThoseOfTheInputs) {
  const Expr x = matrix("x", {"n", 4}), y = vector("y", {"m"});
  const Shared w(Tensor::zeros(DType::kFloat64, {4, 2}), "w");
  const std::vector<Expr> values{dot(x, w), join(0, {y, y, x[0]}), sum(x), x[{Slice{.stop = -1}}]};
  const std::vector<Shape> got = shapes_of(values, {{x, {7, 4}}, {y, {3}}});
  EXPECT_EQ(got, (std::vector<Shape>{{7, 2}, {10}, {}, {6, 4}}));
}

TEST(ShapesOf, MistakesAreUserErrors) {
  const Expr x = matrix("x", {"n", 4}), y = vector("y", {"m"}), count = iscalar("count");
  const auto text = [](const std::vector<Expr>& values, const std::vector<std::pair<Expr, Shape>>& inputs) {
    return text_without_node([&] { shapes_of(values, inputs); });
  };
  const std::string open =
      "error: shapes_of: a length does not follow from the shapes of these inputs\n"
      "  expected: values whose lengths are those of inputs\n  got:      ";
  EXPECT_EQ(text({y}, {{x, {2, 4}}}), open + "y float64[m]");
  EXPECT_EQ(text({y[y > 0]}, {{y, {2}}}).substr(0, open.size()), open);
  EXPECT_EQ(text({arange(count)}, {{count, {}}}).substr(0, open.size()), open);
  EXPECT_NE(text({x}, {{x, {2, 5}}}).find("x"), std::string::npos);
  EXPECT_EQ(text({x}, {{x, {-2, 4}}}),
            "error: shapes_of: a length is below 0\n  expected: lengths of 0 and more\n  got:      [-2, 4]");
}

TEST(Eval, GivesTheValueOfAnExpression) {
  const Expr x = vector("x", {2});
  EXPECT_EQ(eval(x + 1, {{x, Tensor::vector({1.0, 2.0})}}).text(), "[2, 3]");
  EXPECT_EQ(eval(arange(3) * 2).text(), "[0, 2, 4]");
  EXPECT_EQ(text_without_node([&] { eval(x + 1); }).find("error: eval: an output needs x, which is not among"), 0u);
}

}  // namespace
}  // namespace thtrain::clone_replace_test
