// Derivatives of softmax, log-softmax and the cross-entropies: against differences and against their closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain::nnet_gradient_test {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

Tensor random_tensor(RandomState& rng, const Shape& shape, double low, double high) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = rng.uniform(low, high);
  return out;
}

// d sum(weights * f(x)) / dx for random weights, against differences.
void check(const std::string& name, const Shape& shape, const std::function<Expr(Expr)>& f, double low = -3,
           double high = 3) {
  SCOPED_TRACE(name);
  RandomState rng(1234);
  Tensor value = random_tensor(rng, shape, low, high);
  Expr x = make_input(type_of(value), "x");
  Expr y = f(x);
  Expr loss = sum(y * make_constant(random_tensor(rng, y.type().known_shape(), 0.5, 1.5)));
  Expr gradient = grad(loss, x);
  ASSERT_EQ(gradient.type(), x.type());
  Tensor exact = evaluate({gradient}, {{x, value}})[0];
  const double step = 1e-6;
  for (int64_t i = 0; i < exact.size(); ++i) {
    auto loss_at = [&](double change) {
      Tensor moved = value.copy();
      moved.data<double>()[i] += change;
      return evaluate({loss}, {{x, moved}})[0].as_double();
    };
    double numeric = (loss_at(step) - loss_at(-step)) / (2 * step), want = exact.as_double(i);
    EXPECT_NEAR(numeric, want, 1e-6 * std::max(1.0, std::abs(want))) << "element " << i;
  }
}

TEST(NnetGradient, OfSoftmaxAgreesWithDifferencesAlongEveryAxis) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    check("softmax", {2, 3, 4}, [&](Expr x) { return softmax(x, axis); });
    check("log_softmax", {2, 3, 4}, [&](Expr x) { return log_softmax(x, axis); });
  }
  check("one class", {3, 1}, [](Expr x) { return softmax(x); });
  check("no rows", {0, 3}, [](Expr x) { return log_softmax(x); });
  check("second derivative", {3, 4}, [](Expr x) { return grad(sum(sqr(softmax(x))), x); });
  check("second derivative", {3, 4}, [](Expr x) { return grad(sum(sqr(log_softmax(x))), x); });
}

TEST(NnetGradient, OfLossesAgreesWithDifferences) {
  RandomState rng(5);
  Expr labels = make_constant(Tensor::vector<int64_t>({2, 0, 1, 1}));
  Expr dense = make_constant(random_tensor(rng, {4, 3}, 0, 1));
  check(
      "labels", {4, 3}, [&](Expr x) { return categorical_crossentropy(x, labels); }, 0.1, 1);
  check(
      "dense", {4, 3}, [&](Expr x) { return categorical_crossentropy(x, dense); }, 0.1, 1);
  check(
      "targets", {4, 3}, [&](Expr x) { return categorical_crossentropy(sigmoid(dense), x); }, 0.1, 1);
  check("labels, logits", {4, 3}, [&](Expr x) { return categorical_crossentropy_logits(x, labels); });
  check("dense, logits", {4, 3}, [&](Expr x) { return categorical_crossentropy_logits(x, dense); });
  check(
      "binary", {4, 3}, [&](Expr x) { return binary_crossentropy(x, dense); }, 0.1, 0.9);
  check("binary, logits", {4, 3}, [&](Expr x) { return binary_crossentropy_logits(x, dense); });
  Expr sequence = make_constant(Tensor::of<int64_t>({0, 2, 1, 1, 0, 2}, {2, 3}));
  check("labels of sequences", {2, 3, 4}, [&](Expr x) { return categorical_crossentropy_logits(x, sequence); });
}

TEST(NnetGradient, OfLogitsIsProbabilityMinusTarget) {
  Tensor z = Tensor::matrix<double>({{1000, 0, -1000}, {0, 0, 0}, {1, 2, 3}});
  Tensor labels = Tensor::vector<int64_t>({2, 1, 0});
  Expr x = make_input(type_of(z), "z");
  Expr loss = sum(categorical_crossentropy_logits(x, make_constant(labels)));
  std::vector<Tensor> got = evaluate({grad(loss, x), softmax(x)}, {{x, z}});
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      double target = labels.as_int(i) == j ? 1 : 0;
      EXPECT_NEAR(got[0].at<double>({i, j}), got[1].at<double>({i, j}) - target, 1e-15);
    }
}

TEST(NnetGradient, OfBinaryLogitsIsFiniteAndRightAtZero) {
  Tensor z = Tensor::vector<double>({0, -0.0, 1000, -1000, 1e-300});
  Expr x = make_input(type_of(z), "z");
  Tensor got = evaluate({grad(sum(binary_crossentropy_logits(x, 0.25)), x)}, {{x, z}})[0];
  Tensor want = Tensor::vector<double>({0.25, 0.25, 0.75, -0.25, 0.25});
  for (int64_t i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(got.as_double(i), want.as_double(i));
}

TEST(NnetGradient, KeepsTheDtype) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 3}}, "x");
  Expr labels = make_input({.dtype = DType::kInt32, .dims = {"n"}}, "labels");
  EXPECT_EQ(grad(mean(categorical_crossentropy_logits(x, labels)), x).type(), x.type());
  EXPECT_EQ(grad(mean(categorical_crossentropy(softmax(x), labels)), x).type(), x.type());
  EXPECT_EQ(grad(mean(binary_crossentropy(sigmoid(x), 1)), x).type(), x.type());
  EXPECT_EQ(grad(mean(log_softmax(x, 0)), x).type(), x.type());
}

}  // namespace
}  // namespace thtrain::nnet_gradient_test
