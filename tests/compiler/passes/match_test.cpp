#include "compiler/passes/match.h"

#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

const Expr kX = any_value("x"), kY = any_value("y"), kC = any_number("c");

TEST(Match, BindsVariables) {
  const Leaves& l = leaves();
  std::optional<Binding> b = match(kX - exp(kY), l.m - exp(l.x));
  ASSERT_TRUE(b);
  EXPECT_TRUE(b->value(kX).same(l.m));
  EXPECT_TRUE(b->value(kY).same(l.x));
  EXPECT_EQ(b->root().dims(), (Dims{3, 7}));
  EXPECT_FALSE(match(kX - exp(kY), exp(l.x) - l.m));
  EXPECT_FALSE(match(kX - exp(kY), l.x - log(l.x)));
}

TEST(Match, TheSameVariableIsTheSameValue) {
  const Leaves& l = leaves();
  EXPECT_TRUE(match(kX / kX, l.x / l.x));
  EXPECT_FALSE(match(kX / kX, l.x / l.y));
  Expr e = exp(l.x);
  EXPECT_TRUE(match(exp(kX) / (1 + exp(kX)), e / (1 + e)));
  EXPECT_FALSE(match(exp(kX) / (1 + exp(kX)), e / (1 + exp(l.y))));
}

TEST(Match, CommutativeOpsInEitherOrder) {
  const Leaves& l = leaves();
  for (const Expr& value : {1 + exp(l.x), exp(l.x) + 1}) EXPECT_TRUE(match(1 + exp(kX), value));
  // The first order of the sum binds x and y the wrong way round for the difference.
  Expr a = l.x, b = l.y;
  EXPECT_TRUE(match((kX + kY) * (kX - kY), (b + a) * (a - b)));
  EXPECT_TRUE(match((kX + kY) * (kX - kY), (a - b) * (b + a)));
  EXPECT_FALSE(match((kX + kY) * (kX - kY), (a + a) * (a - b)));
  EXPECT_FALSE(match(kX - kY * 2, (l.x * 2) - l.y));
}

TEST(Match, Numbers) {
  const Leaves& l = leaves();
  EXPECT_TRUE(match(1 + kX, ones_like(l.m) + l.x));                        // repeated
  EXPECT_TRUE(match(1 + kX, make_constant(Tensor::vector({1.0})) + l.x));  // of one element
  EXPECT_TRUE(match(0.1 * kX, l.f * 0.1f));                                // rounded to float32
  EXPECT_TRUE(match(1 + kX, l.i + 1));
  EXPECT_FALSE(match(1 + kX, l.x + 2));
  EXPECT_FALSE(match(1 + kX, l.x + make_constant(Tensor::vector({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}))));
  EXPECT_FALSE(match(0 + kX, l.x + -0.0));
  EXPECT_TRUE(match(-0.0 + kX, l.x + -0.0));

  std::optional<Binding> b = match(kC * kX, l.x * 2.5);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->number(kC), 2.5);
  EXPECT_FALSE(match(kC * kX, l.x * l.y));
  // Both are numbers: the variable may be one too.
  EXPECT_TRUE(match(kC * kX, Operand(2.0).expr() * Operand(3.0).expr()));
}

TEST(Match, OneDtypeThroughout) {
  const Leaves& l = leaves();
  // exp of float32 is not what a float64 rule speaks of.
  EXPECT_FALSE(match(exp(kX) + kY, exp(l.f) + l.x));
  // An operand that the operation casts is bound as it is seen.
  std::optional<Binding> b = match(kX * exp(kY), l.i * exp(l.x));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->value(kX).dtype(), DType::kFloat64);
  EXPECT_TRUE(is_op(b->value(kX), cast_op()));
}

TEST(Match, PropertiesCount) {
  const Leaves& l = leaves();
  EXPECT_TRUE(match(cast(kX, DType::kFloat32), cast(l.x, DType::kFloat32)));
  EXPECT_FALSE(match(cast(kX, DType::kFloat32), cast(l.x, DType::kInt8)));
}

TEST(Instantiate, NumbersTakeTheDtypeOfTheOtherOperand) {
  const Leaves& l = leaves();
  Binding b;
  b.set(kX, l.f);
  Expr out = instantiate(0.1 * kX + 1, b);
  EXPECT_EQ(out.type().text(), "float32[7]");
  EXPECT_EQ(number_of(input_of(input_of(out, 0), 0)), static_cast<double>(0.1f));
  b = Binding();
  b.set(kX, l.i);
  EXPECT_EQ(instantiate(2 * kX, b).dtype(), DType::kInt64);
}

TEST(FittedTo, RepeatsButNeverCasts) {
  const Leaves& l = leaves();
  EXPECT_EQ(broadcast_to_type(l.x, l.m.type()).dims(), l.m.dims());
  EXPECT_TRUE(broadcast_to_type(l.x, l.x.type()).same(l.x));
  EXPECT_FALSE(broadcast_to_type(l.f, l.x.type()).has_value());
  EXPECT_FALSE(broadcast_to_type(l.m, l.x.type()).has_value());
  EXPECT_FALSE(broadcast_to_type(l.x, {.dtype = DType::kFloat64, .dims = {7, 3}}).has_value());
  // That n is 7 is not known.
  EXPECT_FALSE(broadcast_to_type(l.x, {.dtype = DType::kFloat64, .dims = {"n"}}).has_value());
  EXPECT_FALSE(broadcast_to_type(Expr(), l.x.type()).has_value());
}

TEST(NumberOf, SeesThroughViews) {
  EXPECT_EQ(number_of(transpose(broadcast_to(Operand(3).expr(), {2, 4}))), 3);
  EXPECT_EQ(number_of(leaves().x), std::nullopt);
  EXPECT_EQ(number_of(make_constant(Tensor(std::complex<double>(1, 2)))), std::nullopt);
}

TEST(VariablesOf, EachOnce) {
  EXPECT_EQ(variables_of(kX * kY + kX * kC).size(), 3u);
}

}  // namespace
}  // namespace thtrain
