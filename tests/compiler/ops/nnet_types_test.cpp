// Types and errors of softmax and the cross-entropies.
#include <gtest/gtest.h>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "tests/support/datasets_support.h"

namespace thtrain::nnet_types_test {
namespace {

Expr input(DType dtype, Dims dims, std::string name = "x") {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, std::move(name));
}

// The text of an error without the line of the test that caused it.
template <class Action>
std::string message(Action action) {
  std::string text = error_text(action);
  size_t at = text.find("\n  node:");
  if (at == std::string::npos) return text;
  size_t rest = text.find("\n", at + 1);
  return text.substr(0, at) + (rest == std::string::npos ? "" : text.substr(rest));
}

TEST(NnetTypes, SoftmaxKeepsTypeAndCastsIntegers) {
  EXPECT_EQ(softmax(input(DType::kFloat32, {"n", 10})).type().text(), "float32[n, 10]");
  EXPECT_EQ(softmax(input(DType::kInt8, {3})).type().text(), "float64[3]");
  EXPECT_EQ(log_softmax(input(DType::kFloat64, {2, 3}), 0).type().text(), "float64[2, 3]");
  Expr x = input(DType::kFloat64, {2, 3});
  EXPECT_EQ(softmax(x, -1).node().props, softmax(x, 1).node().props);
}

TEST(NnetTypes, LossesHaveTheShapeOfTheExamples) {
  Expr p = input(DType::kFloat32, {"batch", 10});
  EXPECT_EQ(categorical_crossentropy(p, input(DType::kInt64, {"batch"})).type().text(), "float32[batch]");
  EXPECT_EQ(categorical_crossentropy(p, input(DType::kFloat32, {"batch", 10})).type().text(), "float32[batch]");
  EXPECT_EQ(categorical_crossentropy(p, input(DType::kUInt8, {"batch", 10})).type().text(), "float32[batch]");
  EXPECT_EQ(categorical_crossentropy_logits(p, input(DType::kUInt8, {"batch"})).type().text(), "float32[batch]");
  Expr sequence = input(DType::kFloat64, {"batch", "steps", 7});
  EXPECT_EQ(categorical_crossentropy_logits(sequence, input(DType::kInt32, {"batch", "steps"})).type().text(),
            "float64[batch, steps]");
  Expr one = input(DType::kFloat64, {7});
  EXPECT_EQ(categorical_crossentropy_logits(one, 3).type().text(), "float64[]");
  EXPECT_EQ(binary_crossentropy(p, 1).type().text(), "float32[batch, 10]");
  EXPECT_EQ(binary_crossentropy_logits(p, input(DType::kBool, {"batch", 10})).type().text(), "float32[batch, 10]");
}

TEST(NnetTypes, ALabelOutOfRangeIsAnError) {
  Expr z = input(DType::kFloat64, {2, 3});
  for (int64_t label : {3, -1}) {
    Expr loss = categorical_crossentropy_logits(z, make_constant(Tensor::vector<int64_t>({0, label})));
    EXPECT_THROW(evaluate({loss}, {{z, Tensor::zeros(DType::kFloat64, {2, 3})}}), UserError) << label;
  }
}

TEST(NnetErrors, AxesAndDtypes) {
  Expr x = input(DType::kFloat64, {2, 3});
  EXPECT_EQ(message([&] { softmax(x, 2); }),
            "error: softmax: there is no axis 2\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      x float64[2, 3]");
  EXPECT_EQ(message([&] { log_softmax(input(DType::kComplex64, {3})); }),
            "error: log_softmax: the input must hold real floats\n"
            "  got:      x complex64[3]");
}

TEST(NnetErrors, TargetsThatDoNotFit) {
  Expr z = input(DType::kFloat32, {"batch", 10}, "z");
  EXPECT_EQ(message([&] { categorical_crossentropy(z, input(DType::kFloat32, {"batch"}, "t")); }),
            "error: categorical_crossentropy: the targets fit neither as labels nor as a value for each class\n"
            "  expected: integers of rank 1, or any numbers of rank 2\n"
            "  got:      z float32[batch, 10], targets t float32[batch]\n"
            "  hint:     labels are integers: cast them");
  EXPECT_EQ(message([&] {
              categorical_crossentropy_logits(z, input(DType::kInt32, {"batch", 10, 2}, "t"));
            }),
            "error: categorical_crossentropy_logits: the targets fit neither as labels nor as a value for each class\n"
            "  expected: integers of rank 1, or any numbers of rank 2\n"
            "  got:      z float32[batch, 10], targets t int32[batch, 10, 2]");
  EXPECT_EQ(message([&] { categorical_crossentropy(input(DType::kFloat32, {}), 1); }),
            "error: categorical_crossentropy: a scalar has no classes\n"
            "  expected: classes along the last axis\n"
            "  got:      x float32[]");
}

}  // namespace
}  // namespace thtrain::nnet_types_test
