// What users of NumPy and PyTorch write: x += y, x.T(), where, one_hot.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

std::string text_of(const Expr& x) {
  return evaluate({x}, {})[0].text();
}

Expr numbers(std::initializer_list<double> elements) {
  return make_constant(Tensor::vector(elements));
}

// ---- x += y --------------------------------------------------------------------------------------------------------

TEST(Rebinding, NamesTheNewValue) {
  Expr x = numbers({1, 2, 7});
  x += 1;
  EXPECT_EQ(text_of(x), "[2, 3, 8]");
  x -= numbers({1, 1, 1});
  EXPECT_EQ(text_of(x), "[1, 2, 7]");
  x *= 3;
  EXPECT_EQ(text_of(x), "[3, 6, 21]");
  x /= 2;
  EXPECT_EQ(text_of(x), "[1.5, 3, 10.5]");
  x %= 4;
  EXPECT_EQ(text_of(x), "[1.5, 3, 2.5]");
  EXPECT_EQ(text_of((x += 1) *= 2), "[5, 8, 7]");
}

TEST(Rebinding, OtherHandlesKeepTheOldValue) {
  Expr x = numbers({1, 2}), old = x;
  x += x;
  EXPECT_EQ(text_of(old), "[1, 2]");
  EXPECT_EQ(text_of(x), "[2, 4]");
}

TEST(Rebinding, TakesDtypeAndLengthsOfTheResult) {
  Expr i = tensor("i", {3}, DType::kInt8);
  i += 1;
  EXPECT_EQ(i.type().text(), "int8[3]");
  i /= 2;
  EXPECT_EQ(i.type().text(), "float64[3]");
  i += tensor("m", {2, 3}, DType::kFloat32);
  EXPECT_EQ(i.type().text(), "float64[2, 3]");
}

TEST(Rebinding, AccumulatesALossAndItsGradient) {
  Expr x = vector("x", {2}), loss = sum(x);
  for (int i = 1; i <= 3; ++i) loss += i * sum(sqr(x));
  Expr gradient = grad(loss, x);
  EXPECT_EQ(evaluate({gradient}, {{x, Tensor::vector({1.0, -1.0})}})[0].text(), "[13, -11]");
}

TEST(Rebinding, OfAnEmptyExpressionNamesTheLine) {
  try {
    Expr total;
    total += vector("x");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages()[0].what, "an operand is an empty expression");
    EXPECT_NE(error.messages()[0].node.find("conveniences_test.cpp:"), std::string::npos) << error.what();
  }
}

// ---- x.T() ---------------------------------------------------------------------------------------------------------

TEST(Transposed, ReversesTheAxesAsNumPyDoes) {
  EXPECT_EQ(tensor("x", {}, DType::kFloat32).T().type().text(), "float32[]");
  EXPECT_EQ(tensor("x", {3}, DType::kFloat32).T().type().text(), "float32[3]");
  EXPECT_EQ(tensor("x", {2, 3}, DType::kBool).T().type().text(), "bool[3, 2]");
  EXPECT_EQ(tensor("x", {2, 3, 4}, DType::kComplex64).T().type().text(), "complex64[4, 3, 2]");
  EXPECT_EQ(text_of(make_constant(Tensor::matrix({{1, 2, 3}, {4, 5, 6}})).T()), "[[1, 4], [2, 5], [3, 6]]");
  Expr x = tensor("x", {"n", 3}, DType::kFloat32);
  EXPECT_EQ(x.T().type().text(), "float32[3, n]");
}

TEST(Transposed, SharedVariablesToo) {
  Shared w(Tensor::matrix({{1.0, 2.0}}), "w");
  EXPECT_EQ(function({}, {w.T()})({})[0].text(), "[[1], [2]]");
}

TEST(Transposed, HasTheTransposedGradient) {
  Expr x = tensor("x", {2, 3}, DType::kFloat64);
  Expr weights = make_constant(Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
  EXPECT_EQ(text_of(grad(sum(x.T() * weights), x)), "[[1, 3, 5], [2, 4, 6]]");
}

TEST(Transposed, OfAnEmptyExpressionIsAnError) {
  EXPECT_EQ(text_without_node([] { Expr().T(); }),
            "error: what is transposed is an empty expression\n"
            "  expected: an expression that was built before\n"
            "  got:      Expr(), which has no value\n"
            "  hint:     Expr::has_value() tells whether there is one");
}

// ---- where ---------------------------------------------------------------------------------------------------------

TEST(Where, ChoosesElementwiseAndBroadcasts) {
  Expr mask = make_constant(Tensor::vector({true, false, true}));
  EXPECT_EQ(text_of(where(mask, numbers({1, 2, 3}), -1)), "[1, -1, 3]");
  EXPECT_EQ(text_of(where(expand_dims(mask, {1}), numbers({1, 2}), 0)), "[[1, 2], [0, 0], [1, 2]]");
  EXPECT_TRUE(where(mask, 1, 2).node().op == switch_(mask, 1, 2).node().op);
}

TEST(Where, EveryDtypeAsSwitch) {
  for (DType dtype : {DType::kBool, DType::kUInt8, DType::kInt64, DType::kFloat32, DType::kComplex128}) {
    Expr x = tensor("x", {2}, dtype), c = tensor("c", {2}, DType::kInt32);
    EXPECT_EQ(where(c, x, x).type(), x.type());
    EXPECT_EQ(where(c, x, x).type(), switch_(c, x, x).type());
  }
}

TEST(Where, TheDerivativeGoesToWhatWasChosen) {
  Expr x = tensor("x", {3}, DType::kFloat64), y = tensor("y", {3}, DType::kFloat64);
  std::vector<Expr> gradients = grad(sum(where(x > 0, 2 * x, 3 * y)), {x, y});
  std::vector<Tensor> out =
      evaluate(gradients, {{x, Tensor::vector({1.0, -1.0, 0.0})}, {y, Tensor::vector({1.0, 1.0, 1.0})}});
  EXPECT_EQ(out[0].text(), "[2, 0, 0]");
  EXPECT_EQ(out[1].text(), "[0, 3, 3]");
}

TEST(Where, LengthsThatDoNotFit) {
  EXPECT_EQ(text_without_node([] {
              where(numbers({1, 0}), numbers({1, 2, 3}), 0);
            }),
            text_without_node([] {
              switch_(numbers({1, 0}), numbers({1, 2, 3}), 0);
            }));
  EXPECT_NE(text_without_node([] { where(numbers({1, 0}), numbers({1, 2, 3}), 0); }), "no error");
}

// ---- one_hot -------------------------------------------------------------------------------------------------------

TEST(OneHot, KnownValues) {
  Expr labels = make_constant(Tensor::vector<int64_t>({2, 0}));
  EXPECT_EQ(text_of(one_hot(labels, 3)), "[[0, 0, 1], [1, 0, 0]]");
  EXPECT_EQ(text_of(one_hot(1, 3)), "[0, 1, 0]");
  Expr table = make_constant(Tensor::matrix<int64_t>({{0, 1}, {1, 1}}));
  EXPECT_EQ(text_of(one_hot(table, 2)), "[[[1, 0], [0, 1]], [[0, 1], [0, 1]]]");
  EXPECT_EQ(one_hot(tensor("i", {0}, DType::kInt64), 4).type().text(), "float64[0, 4]");
}

TEST(OneHot, LabelsOfEveryIntegerAndResultsOfEveryDtype) {
  for (DType from : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kUInt64}) {
    Expr labels = make_constant(Tensor::vector<int64_t>({1, 0}).cast(from));
    for (DType to : {DType::kBool, DType::kUInt8, DType::kInt64, DType::kFloat32, DType::kFloat64, DType::kComplex64}) {
      Expr hot = one_hot(labels, 2, to);
      EXPECT_EQ(hot.dtype(), to);
      EXPECT_EQ(evaluate({hot}, {})[0].cast(DType::kBool).text(), "[[false, true], [true, false]]")
          << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(OneHot, LengthsThatACallKnows) {
  Expr labels = ivector("labels"), n = iscalar("n");
  Function f = function({labels, n}, {one_hot(labels, n, DType::kFloat32)});
  EXPECT_EQ(f({Tensor::vector<int64_t>({1, 0}), Tensor(int64_t{2})})[0].text(), "[[0, 1], [1, 0]]");
  EXPECT_EQ(f({Tensor::vector<int64_t>({3}), Tensor(int64_t{4})})[0].text(), "[[0, 0, 0, 1]]");
  for (int64_t wrong : {4, -1})
    EXPECT_EQ(text_without_node([&] {
                f({Tensor::vector<int64_t>({0, wrong}), Tensor(int64_t{4})});
              }),
              str("error: one_hot: the label of row 1 is ", wrong, "\n  expected: 0 <= label < @n"));
}

TEST(OneHot, SelectsRowsInAProductWithAGradient) {
  Expr x = tensor("x", {3}, DType::kFloat64);
  Expr hot = one_hot(make_constant(Tensor::vector<int64_t>({2, 0, 2})), 3);
  EXPECT_EQ(evaluate({grad(sum(hot * x), x)}, {{x, Tensor::vector({1.0, 2.0, 3.0})}})[0].text(), "[1, 0, 2]");
}

TEST(OneHot, LabelsThatAreNoIntegers) {
  EXPECT_EQ(text_without_node([] { one_hot(tensor("t", {3}, DType::kFloat32), 5); }),
            "error: one_hot: the labels are no integers\n"
            "  expected: integers from 0 to n - 1\n"
            "  got:      t float32[3]\n"
            "  hint:     cast them");
  EXPECT_EQ(text_without_node([] { one_hot(tensor("t", {3}, DType::kBool), 5); }),
            "error: one_hot: the labels are no integers\n"
            "  expected: integers from 0 to n - 1\n"
            "  got:      t bool[3]\n"
            "  hint:     cast them");
}

}  // namespace
}  // namespace thtrain
