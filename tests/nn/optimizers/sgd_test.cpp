#include "nn/optimizers/sgd.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"

namespace thtrain {
namespace {

// cost = sum((W - target)^2) / 2, so that the gradient is W - target.
class SgdTest : public testing::TestWithParam<DType> {
 protected:
  Shared w_{Tensor::vector({1.0, -2.0, 3.0}).cast(GetParam()), "layer/W"};
  std::vector<Param> params_{{"layer/W", w_}};
  std::vector<double> target_{0.5, 0.25, -1};

  Expr cost() const {
    Expr target = make_constant(Tensor::of(target_, {3}).cast(GetParam()));
    return sum(sqr(w_ - target)) * 0.5;
  }
  // Steps of the optimizer compared with a loop of the same arithmetic in T.
  template <class T>
  void compare(const Sgd::Options& options) {
    Sgd sgd(options, params_);
    Function step = function({}, {}, sgd.updates(cost()), {.mode = Mode::kReference});
    T rate = static_cast<T>(options.learning_rate), momentum = static_cast<T>(options.momentum);
    std::vector<T> w = {1, -2, 3}, v(3, 0);
    for (int n = 0; n < 4; ++n) {
      step(std::vector<Tensor>{});
      for (size_t i = 0; i < 3; ++i) {
        T move = rate * (w[i] - static_cast<T>(target_[i]));
        v[i] = momentum * v[i] - move;
        w[i] = options.momentum == 0 ? w[i] - move : options.nesterov ? w[i] + momentum * v[i] - move : w[i] + v[i];
        EXPECT_NEAR(w_.get_value().as_double(static_cast<int64_t>(i)), w[i], 4e-7) << n;
      }
    }
    ASSERT_EQ(sgd.state().size(), options.momentum == 0 ? 0u : 1u);
    if (options.momentum == 0) return;
    EXPECT_EQ(sgd.state()[0].first, "velocity/layer/W");
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(sgd.state()[0].second.get_value().as_double(static_cast<int64_t>(i)), v[i], 4e-7);
  }
  void compare_dtype(const Sgd::Options& options) {
    if (GetParam() == DType::kFloat32)
      compare<float>(options);
    else
      compare<double>(options);
  }
};

TEST_P(SgdTest, Plain) {
  compare_dtype({.learning_rate = 0.1});
}
TEST_P(SgdTest, Momentum) {
  compare_dtype({.learning_rate = 0.1, .momentum = 0.9});
}
TEST_P(SgdTest, Nesterov) {
  compare_dtype({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
}

TEST_P(SgdTest, TheLearningRateIsARunTimeValue) {
  Sgd sgd({.learning_rate = 0.5}, params_);
  EXPECT_EQ(sgd.learning_rate().type().text(), str(name_of(GetParam()), "[]"));
  Function step = function({}, {}, sgd.updates(cost()), {.mode = Mode::kReference});
  sgd.learning_rate().set_value(Tensor(1.0).cast(GetParam()));
  step(std::vector<Tensor>{});  // a whole step ends at the target
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(w_.get_value().as_double(static_cast<int64_t>(i)), target_[i]);
}

INSTANTIATE_TEST_SUITE_P(DTypes, SgdTest, testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Sgd, ThePlainGraphIsWMinusRateTimesGradient) {
  Shared w(Tensor::zeros(DType::kFloat64, {3, 2}), "a/W"), x(Tensor::zeros(DType::kFloat64, {4, 3}), "x");
  Sgd sgd({}, {{"a/W", w}});
  std::vector<Update> updates = sgd.updates(sum(dot(x, w)));
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(expr_text(updates[0].value).substr(0, 29), "sub(a/W, mul(learning_rate, d");
  EXPECT_EQ(updates[0].value.node().origin.scope->path, "sgd/a/W");
}

}  // namespace
}  // namespace thtrain
