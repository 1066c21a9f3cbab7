// The contraction penalty compared with the Jacobian matrix, by differences.
#include "nn/contraction.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/evaluate.h"
#include "nn/layers/dense.h"
#include "nn/layers/maxout.h"
#include "nn/layers/rbm.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Model model_of(const std::string& activation) {
  Model out({4}, DType::kFloat64, 3);
  if (activation == "rbm")
    out.add(Rbm::Options{{.name = "hidden"}, 3});
  else
    out.add(Dense::Options{{.name = "hidden"}, 3, activation});
  return out;
}

TEST(Contraction, IsTheSquaredNormOfTheJacobian) {
  const Tensor at = Tensor::of(RandomState(9).normal(0, 1, 20), {5, 4});
  for (const char* activation : {"sigmoid", "tanh", "linear", "rbm"}) {
    const Model model = model_of(activation);
    const Expr x = tensor("x", {5, 4}, DType::kFloat64);
    ModelPass pass = model.pass({x}, Phase::kTraining);
    const Expr h = pass.output(), penalty = contraction_penalty(pass.model_output());
    double expected = 0;
    for (int64_t k = 0; k < 4; ++k) {  // d h / d x_k of all examples at once
      Tensor sides[2];
      for (int side : {0, 1}) {
        Tensor moved = at.copy();
        for (int64_t i = 0; i < 5; ++i) moved.data<double>()[i * 4 + k] += side == 0 ? -1e-5 : 1e-5;
        sides[side] = evaluate({h}, {{x, moved}})[0];
      }
      for (int64_t i = 0; i < sides[0].size(); ++i) {
        const double slope = (sides[1].as_double(i) - sides[0].as_double(i)) / 2e-5;
        expected += slope * slope / 5;
      }
    }
    EXPECT_NEAR(evaluate({penalty}, {{x, at}})[0].as_double(), expected, 1e-8) << activation;
  }
}

TEST(Contraction, RefusesOtherLayers) {
  const Expr x = tensor("x", {5, 4}, DType::kFloat64);
  const char* expected =
      "  expected: a dense layer with the activation sigmoid, tanh or linear, or an rbm layer\n  got:      ";
  const Model relu = model_of("relu");
  ModelPass pass = relu.pass({x}, Phase::kTraining);
  EXPECT_EQ(
      text_without_node([&] { contraction_penalty(pass.model_output()); }),
      str("error: the layer hidden has no contraction penalty\n", expected, "a dense layer with the activation relu"));
  Model maxout({4}, DType::kFloat64, 3);
  maxout.add(Maxout::Options{{.name = "max"}, 3});
  ModelPass of_maxout = maxout.pass({x}, Phase::kTraining);
  EXPECT_EQ(text_without_node([&] { contraction_penalty(of_maxout.model_output()); }),
            str("error: the layer max has no contraction penalty\n", expected, "type = \"maxout\""));
}

}  // namespace
}  // namespace thtrain
