// print and check, by their references.
#include <gtest/gtest.h>

#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

TEST(Effect, PrintIsTheIdentityAndShowsItsValue) {
  Expr x = matrix("x");
  Expr y = print(x, "here");
  EXPECT_EQ(y.type(), x.type());
  ASSERT_EQ(y.node().types.size(), 2u);
  EXPECT_EQ(y.node().types[1].kind, TypeKind::kToken);
  EXPECT_TRUE(y.node().op->has_effect);
  Tensor value = counting({2, 3}).cast(DType::kFloat64);
  testing::internal::CaptureStderr();
  Tensor result = evaluate({y}, {{x, value}})[0];
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "here: float64[2, 3] [[0, 1, 2], [3, 4, 5]]\n");
  EXPECT_TRUE(same_bits(result, value));
}

TEST(Effect, PrintTakesAToken) {
  Expr x = matrix("x");
  Expr first = print(x, "first");
  Expr token(first.node_ptr(), 1);
  Expr second = apply(print_op(), {first, token}, {{"label", std::string("second")}});
  EXPECT_EQ(second.type(), x.type());
  EXPECT_EQ(text_without_node([&] {
              apply(print_op(), {token}, {{"label", std::string("t")}});
            }),
            "error: print: the value is a token\n"
            "  expected: a tensor\n"
            "  got:      token");
}

TEST(Effect, CheckHoldsOrFails) {
  Expr x = vector("x");
  Expr y = check(x, all(gt(x, 0)), "x must be positive");
  Tensor good = Tensor::vector({1.0, 2.0});
  EXPECT_TRUE(same_bits(evaluate({y}, {{x, good}})[0], good));
  EXPECT_EQ(text_without_node([&] {
              evaluate({y}, {{x, Tensor::vector({1.0, -2.0})}});
            }),
            "error: check: x must be positive\n"
            "  expected: a condition that holds");
  Expr each = check(x, gt(x, 0), "x must be positive");
  EXPECT_THROW(evaluate({each}, {{x, Tensor::vector({1.0, -2.0})}}), UserError);
  EXPECT_TRUE(same_bits(evaluate({each}, {{x, good}})[0], good));
  EXPECT_EQ(text_without_node([&] { check(x, x, "no bool"); }),
            "error: check: the condition is not a bool\n"
            "  expected: a bool, or a tensor of them\n"
            "  got:      x float64[x.0], x float64[x.0]");
}

TEST(Effect, EqualChecksMergeAndPrintsDoNot) {
  Expr x = vector("x");
  Expr condition = gt(x, 0);
  Rebuilder rebuilder;
  auto keep = [](const Node&, const std::vector<Expr>&) { return std::vector<Expr>{}; };
  Expr a = rebuilder.rebuild(check(x, condition, "positive"), keep);
  Expr b = rebuilder.rebuild(check(x, condition, "positive"), keep);
  EXPECT_TRUE(a.same(b));
  EXPECT_FALSE(check_op().has_effect);
}

}  // namespace
}  // namespace thtrain
