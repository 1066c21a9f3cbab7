// Ops without a rule for their derivatives: an error that names them, unless they say that they have none.
#include <gtest/gtest.h>

#include "compiler/autodiff/forward.h"
#include "compiler/autodiff/gradient.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/registry.h"
#include "tests/support/error_text.h"

namespace thtrain::gradient_rules_test {
namespace {

std::vector<Tensor> squares(const ReferenceArgs& a) {
  Tensor out = a.make_output();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = a.inputs[0].as_double(i) * a.inputs[0].as_double(i);
  return {out};
}

Op square_op() {
  return {.name = "my_square",
          .doc = "x x",
          .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
          .reference = squares};
}

const std::string kNoRule =
    "error: grad: the op my_square has no rule for its gradient\n"
    "  got:      my_square float64[2], on which the derivative depends\n"
    "  hint:     give the op a gradient, or a connection that is false where a result has no derivative; "
    "stop_gradient(x) takes x as constant";

TEST(GradientRules, AnOpWithoutOneIsAnErrorThatNamesIt) {
  static const Op op = square_op();
  const Expr x = vector("x", {2});
  EXPECT_EQ(text_without_node([&] { grad(sum(apply(op, {x}) + x), x); }), kNoRule);
  EXPECT_EQ(text_without_node([&] { grad(sum(apply(op, {x}) + x), x, {.disconnected = Disconnected::kZero}); }),
            kNoRule);
  EXPECT_EQ(text_without_node([&] {
              grad(sum(repeat(2, {x}, [&](const std::vector<Expr>& s) { return std::vector{apply(op, {s[0]})}; })[0]),
                   x);
            }),
            kNoRule)
      << "in a body";
  EXPECT_EQ(text_without_node([&] { jvp(apply(op, {x}) + x, x, x); }),
            "error: jvp: the op my_square has neither a rule of forward mode nor one for its gradient\n"
            "  got:      my_square float64[2], on which the derivative depends\n"
            "  hint:     give the op a gradient, or a connection that is false where a result has no derivative; "
            "stop_gradient(x) takes x as constant");
  try {
    grad(sum(apply(op, {x})), x);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(str("  node:     built at ", __FILE__)), std::string::npos)
        << error.what();
  }
}

TEST(GradientRules, NoneIsNeededWhereNoDerivativePasses) {
  static const Op op = square_op();
  const Expr x = vector("x", {2}), y = vector("y", {2});
  const std::vector<std::pair<Expr, Tensor>> at{{x, Tensor::vector({1.0, 2.0})}, {y, Tensor::vector({3.0, 4.0})}};
  EXPECT_EQ(evaluate({grad(sum(apply(op, {y}) * x), x)}, at)[0].text(), "[9, 16]") << "of another variable";
  const Expr square = apply(op, {x});
  EXPECT_EQ(evaluate({grad(sum(square * x), x, {.consider_constant = {square}})}, at)[0].text(), "[1, 4]");
  EXPECT_EQ(evaluate({grad(sum(switch_(gt(square, 2), x, y)), x)}, at)[0].text(), "[0, 1]") << "as a condition";
  EXPECT_EQ(evaluate({jvp(apply(op, {y}) * x, x, y)}, at)[0].text(), "[27, 64]");
}

TEST(GradientRules, AnOpMaySayThatItHasNoDerivative) {
  static const Op op = [] {
    Op made = square_op();
    made.connection = [](const Node&, size_t, size_t) { return false; };
    return made;
  }();
  const Expr x = vector("x", {2});
  EXPECT_EQ(evaluate({grad(sum(apply(op, {x}) + x), x)}, {{x, Tensor::vector({1.0, 2.0})}})[0].text(), "[1, 1]");
  EXPECT_EQ(evaluate({jvp(apply(op, {x}) + x, x, x)}, {{x, Tensor::vector({1.0, 2.0})}})[0].text(), "[1, 2]");
  const std::string text = text_without_node([&] { grad(sum(apply(op, {x})), x); });
  EXPECT_TRUE(text.starts_with("error: grad: the cost does not depend on x float64[2]")) << text;
}

TEST(GradientRules, AnElementwiseRecordWithoutOneIsAnErrorToo) {
  static const ScalarOp record{.name = "my_square",
                               .doc = "x x",
                               .signature = floats_to_same(kFloats),
                               .reference = reference1<kFloats>([](auto x) { return x * x; })};
  static const Op& op = define_elementwise(record);
  const Expr x = vector("x", {2});
  EXPECT_EQ(text_without_node([&] { grad(sum(apply(op, {x}) + x), x); }), kNoRule);
}

// Forward mode has the rule and reverse mode does not.
TEST(GradientRules, ARuleOfForwardModeIsNoneOfReverseMode) {
  static const Op op = [] {
    Op made = square_op();
    made.jvp = [](const JvpArgs& a) { return std::vector<Expr>{2 * a.input(0) * a.tangent()}; };
    return made;
  }();
  const Expr x = vector("x", {2});
  EXPECT_EQ(evaluate({jvp(apply(op, {x}), x, x)}, {{x, Tensor::vector({1.0, 2.0})}})[0].text(), "[2, 8]");
  EXPECT_EQ(text_without_node([&] { grad(sum(apply(op, {x})), x); }), kNoRule);
}

// Ops that fusion makes are made of graphs whose derivatives were taken before.
TEST(GradientRules, EveryOpHasOneOrSaysThatItHasNone) {
  size_t without = 0;
  for (const Op* op : all_ops()) {
    if (op->gradient || op->fused) continue;
    ++without;
    if (!op->cases) continue;
    for (const OpCase& row : op->cases()) {
      std::vector<Expr> inputs;
      for (const Type& type : row.inputs) inputs.push_back(make_input(type, str("x", inputs.size())));
      const auto results = row.build(inputs);
      for (const Node* node : topological_order(results)) {
        if (node->op != op) continue;
        const Connections connected(*node);
        for (size_t i = 0; i < node->inputs.size(); ++i)
          for (size_t o = 0; o < node->types.size(); ++o)
            EXPECT_FALSE(connected(i, o)) << op->name << ", " << row.name << ": input " << i << ", output " << o;
      }
    }
  }
  EXPECT_GT(without, 20u);
}

}  // namespace
}  // namespace thtrain::gradient_rules_test
