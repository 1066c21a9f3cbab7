// The layer scale compared with PyTorch's numbers.
#include "nn/layers/scale.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/model.h"

namespace thtrain {
namespace {

std::vector<double> numbers(const Expr& value) {
  const Tensor out = evaluate(std::vector<Expr>{value}, {})[0];
  return {out.data<double>(), out.data<double>() + out.size()};
}

// torch 2.15: y = g * x + b, g = 1.5, b = 0; gradients of (y**3).sum().
TEST(Scale, GivesPyTorchsValuesAndGradients) {
  Model model({3}, DType::kFloat64, 1);
  model.add(Scale::Options{{.name = "scale"}, 1.5});
  const Expr x = make_constant(Tensor::matrix({{1.0, -2.0, 0.5}, {3.0, 0.25, -1.5}}));
  const Expr y = model.output(x, Phase::kTraining), cost = sum(y * y * y);
  EXPECT_EQ(numbers(y), (std::vector<double>{1.5, -3.0, 0.75, 4.5, 0.375, -2.25}));
  const std::vector<Expr> gradients = grad(cost, model.exprs());
  EXPECT_EQ(numbers(gradients[0]), (std::vector<double>{189.0, -53.89453125, -21.9375}));
  EXPECT_EQ(numbers(gradients[1]), (std::vector<double>{67.5, 27.421875, 16.875}));
}

TEST(Scale, MayBeSharedAndWithoutAShift) {
  Model model({3}, DType::kFloat32, 1);
  Scale::Options options{{.name = "scale"}};
  options.shared = true;
  options.shift = false;
  model.add(options);
  ASSERT_EQ(model.params().size(), 1u);
  EXPECT_EQ(model.params()[0].name, "scale/g");
  EXPECT_EQ(model.params()[0].variable.type().text(), "float32[]");
  EXPECT_FALSE(model.params()[0].penalized);
}

}  // namespace
}  // namespace thtrain
