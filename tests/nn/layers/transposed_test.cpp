// Layers with the transposed weights of another one.
#include "nn/layers/transposed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/layers/activation.h"
#include "nn/layers/add.h"
#include "nn/layers/dense.h"
#include "nn/layers/rbm.h"
#include "nn/model.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Tensor evaluated(const Expr& value) {
  return evaluate(std::vector<Expr>{value}, {})[0];
}

Transposed::Options back(const std::string& of, const std::string& activation = "linear") {
  Transposed::Options out;
  out.name = "back";
  out.of = of;
  out.activation = activation;
  return out;
}

Model autoencoder() {
  Model out({3}, DType::kFloat64, 4);
  out.add(Dense::Options{{.name = "code"}, 2, "tanh"});
  out.add(back("code", "sigmoid"));
  return out;
}

const Tensor kX = Tensor::matrix({{0.25, -1.0, 0.5}, {1.0, 0.75, -0.5}});

TEST(TransposedLayer, MultipliesWithTheTransposedMatrix) {
  const Model model = autoencoder();
  ASSERT_EQ(join(model.params(), " ", [](const Param& p) { return p.name; }), "code/W code/b back/b");
  const Tensor w = model.params()[0].variable.get_value(), bias = Tensor::vector({0.5, -0.25, 1.0});
  model.params()[2].variable.set_value(bias);
  const Tensor y = evaluated(model.output(make_constant(kX)));
  ASSERT_EQ(y.shape(), (Shape{2, 3}));
  for (int64_t i = 0; i < 2; ++i) {
    double code[2] = {};
    for (int64_t k = 0; k < 6; ++k) code[k % 2] += kX.as_double(i * 3 + k / 2) * w.as_double(k);
    for (int64_t j = 0; j < 3; ++j) {
      double z = bias.as_double(j);
      for (int64_t k = 0; k < 2; ++k) z += std::tanh(code[k]) * w.as_double(j * 2 + k);
      EXPECT_NEAR(y.as_double(i * 3 + j), 1 / (1 + std::exp(-z)), 1e-14);
    }
  }
}

// Of the matrix that two layers share, too.
TEST(TransposedLayer, ItsGradientsAgreeWithDifferences) {
  const Model model = autoencoder();
  const Expr x = make_constant(kX), cost = sum(sqr(model.output(x, Phase::kTraining) - x));
  const std::vector<Expr> gradients = grad(cost, model.exprs());
  for (size_t k = 0; k < gradients.size(); ++k) {
    const Tensor exact = evaluated(gradients[k]);
    const Shared variable = model.params()[k].variable;
    const Tensor before = variable.get_value();
    for (int64_t i = 0; i < before.size(); ++i) {
      double costs[2];
      for (int side : {0, 1}) {
        Tensor moved = before.copy();
        moved.data<double>()[i] += side == 0 ? -1e-6 : 1e-6;
        variable.set_value(moved);
        costs[side] = evaluated(cost).as_double();
      }
      EXPECT_NEAR(exact.as_double(i), (costs[1] - costs[0]) / 2e-6, 1e-8) << k << ' ' << i;
    }
    variable.set_value(before);
  }
}

TEST(TransposedLayer, TakesAMachinesWeightsAndMayHaveNoBias) {
  Model model({3}, DType::kFloat64, 4);
  model.add(Rbm::Options{{.name = "rbm"}, 2});
  Transposed::Options options = back("rbm");
  options.bias = false;
  model.add(options);
  EXPECT_EQ(join(model.params(), " ", [](const Param& p) { return p.name; }), "rbm/W rbm/b rbm/a");
  EXPECT_EQ(model.layers()[1]->output_shape(), (Shape{3}));
}

TEST(TransposedLayer, RefusesOtherLayers) {
  Model model({3}, DType::kFloat64, 4);
  model.add(Dense::Options{{.name = "code"}, 2});
  model.add(Activation::Options{{.name = "squashed"}});
  EXPECT_EQ(text_without_node([&] { model.add(back("coed")); }),
            "error: layer back (transposed) takes the weights of \"coed\", and there is no such layer before it\n"
            "  expected: code, squashed\n"
            "  hint:     did you mean code?");
  EXPECT_EQ(text_without_node([&] { model.add(back("squashed")); }),
            "error: layer back (transposed) takes the weights of squashed, which has no matrix W\n"
            "  expected: a layer of type \"dense\" or \"rbm\"\n"
            "  got:      type = \"activation\"");
  model.add(Dense::Options{{.name = "wide"}, 4});
  EXPECT_EQ(text_without_node([&] { model.add(back("code")); }),
            "error: layer back (transposed) does not fit the layer before it\n"
            "  expected: 2 numbers, the units of code\n"
            "  got:      examples of shape [4]");
}

}  // namespace
}  // namespace thtrain
