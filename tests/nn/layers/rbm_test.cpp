// Restricted Boltzmann machines compared with sums over all states of their units (tests/golden/rbm.py), and
// differences.
#include "nn/layers/rbm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/noise.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_rbm.h"

namespace thtrain {
namespace {

using Visible = Rbm::Visible;

void expect_near(const Tensor& got, const Tensor& expected, double bound) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound) << i;
}

Tensor value_of(const Expr& value) {
  return evaluate(std::vector<Expr>{value}, {})[0];
}

TEST(RbmLayer, TheFreeEnergyIsThatOfAllHiddenStates) {
  const auto golden = golden_rbm();
  const Model binary = golden_rbm_model(golden, Visible::kBinary),
              gaussian = golden_rbm_model(golden, Visible::kGaussian);
  expect_near(value_of(rbm_of(binary).machine().free_energy(make_constant(golden.at("x")))), golden.at("free_energy"),
              1e-12);
  expect_near(value_of(rbm_of(gaussian).machine().free_energy(make_constant(golden.at("x_gaussian")))),
              golden.at("free_energy_gaussian"), 1e-12);
}

TEST(RbmLayer, TheFreeEnergysGradientAgreesWithDifferences) {
  const auto golden = golden_rbm();
  for (Visible visible : {Visible::kBinary, Visible::kGaussian}) {
    const Model model = golden_rbm_model(golden, visible);
    const Expr cost = mean(rbm_of(model).machine().free_energy(make_constant(golden.at("x_gaussian"))));
    const std::vector<Expr> gradients = grad(cost, model.exprs());
    for (size_t k = 0; k < gradients.size(); ++k) {
      const Tensor exact = value_of(gradients[k]);
      const Param param = model.params()[k];
      const Tensor before = param.variable.get_value();
      for (int64_t i = 0; i < before.size(); ++i) {
        double costs[2];
        for (int side : {0, 1}) {
          Tensor moved = before.copy();
          moved.data<double>()[i] += side == 0 ? -1e-6 : 1e-6;
          param.variable.set_value(moved);
          costs[side] = value_of(cost).as_double();
        }
        EXPECT_NEAR(exact.as_double(i), (costs[1] - costs[0]) / 2e-6, 1e-8) << param.name << ' ' << i;
      }
      param.variable.set_value(before);
    }
  }
}

TEST(RbmLayer, ThePseudoLikelihoodIsThatOfTwoWholeStates) {
  const auto golden = golden_rbm();
  const Model model = golden_rbm_model(golden, Visible::kBinary);
  const Expr x = make_constant(golden.at("x"));
  auto by = [&](const std::vector<int64_t>& units, const Shape& shape) {
    return value_of(rbm_of(model).machine().pseudo_log_likelihood(x, make_constant(Tensor::of(units, shape))));
  };
  for (int64_t unit = 0; unit < 6; ++unit) expect_near(by({unit}, {1, 1}), golden.at(str("pseudo_", unit)), 1e-12);
  expect_near(by({0, 1, 2, 3, 4, 5}, {6, 1}), golden.at("pseudo"), 1e-12);
  // Units of its own for each example: one, and the mean of two.
  const std::vector<int64_t> units = {3, 0, 5, 3, 1, 2, 0, 4, 1, 5};
  auto golden_at = [&](int64_t k, int64_t i) {
    return golden.at(str("pseudo_", units[static_cast<size_t>(k)])).as_double(i);
  };
  const Tensor one = by({units.begin(), units.begin() + 5}, {1, 5}), two = by(units, {2, 5});
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(one.as_double(i), golden_at(i, i), 1e-12);
    EXPECT_NEAR(two.as_double(i), (golden_at(i, i) + golden_at(5 + i, i)) / 2, 1e-12);
  }
}

TEST(RbmLayer, GivesTheProbabilitiesOfItsHiddenUnits) {
  const auto golden = golden_rbm();
  const Model model = golden_rbm_model(golden, Visible::kBinary);
  const Tensor h = value_of(model.output(make_constant(golden.at("x"))));
  const Tensor &x = golden.at("x"), &w = golden.at("W"), &b = golden.at("b");
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      double z = b.as_double(j);
      for (int64_t k = 0; k < 6; ++k) z += x.as_double(i * 6 + k) * w.as_double(k * 4 + j);
      EXPECT_NEAR(h.as_double(i * 4 + j), 1 / (1 + std::exp(-z)), 1e-14);
    }
}

// W as the Deep Learning Tutorials draw it; the generators go on from there.
TEST(RbmLayer, StartsAsTheTutorials) {
  Model model({784}, DType::kFloat64, 123);
  model.add(Rbm::Options{{.name = "rbm"}, 500});
  RandomState random(123);
  const double bound = 4 * std::sqrt(6.0 / (784 + 500));
  const Tensor w = model.params()[0].variable.get_value();
  for (int64_t i = 0; i < w.size(); ++i) ASSERT_DOUBLE_EQ(w.as_double(i), random.uniform(-bound, bound)) << i;
  EXPECT_EQ(join(model.params(), " ", [](const Param& p) { return p.name + p.variable.type().text(); }),
            "rbm/Wfloat64[784, 500] rbm/bfloat64[500] rbm/afloat64[784]");
  EXPECT_EQ(join(model.state(), " ", [](const Param& p) { return p.name + p.variable.type().text(); }),
            "rbm/visible_randomint32[6, 784] rbm/hidden_randomint32[6, 500]");
  EXPECT_TRUE(same_bits(model.state()[0].variable.get_value(), mrg_state_of(random, 784)));
  EXPECT_TRUE(same_bits(model.state()[1].variable.get_value(), mrg_state_of(random, 500)));
}

// Means of many chains after some steps are those of the distribution, which a sum over all states gives.
TEST(RbmLayer, GibbsSamplesHaveTheProbabilitiesOfTheEnergy) {
  constexpr int64_t kChains = 20000;
  const auto golden = golden_rbm();
  const Model model = golden_rbm_model(golden, Visible::kBinary);
  const Rbm& rbm = rbm_of(model);
  std::vector<double> states;
  for (int64_t s = 0; s < 64; ++s)
    for (int64_t k = 0; k < 6; ++k) states.push_back(static_cast<double>(s >> k & 1));
  const Tensor energies = value_of(rbm.machine().free_energy(make_constant(Tensor::of(states, {64, 6}))));
  double total = 0, expected[6] = {};
  for (int64_t s = 0; s < 64; ++s) {
    const double p = std::exp(-energies.as_double(s));
    total += p;
    for (int64_t k = 0; k < 6; ++k) expected[k] += p * static_cast<double>(s >> k & 1);
  }
  const Expr start = make_constant(Tensor::zeros(DType::kFloat64, {kChains, 6}));
  const GibbsStep last = rbm.machine().gibbs_vhv(start, 50, rbm.visible_random(), rbm.hidden_random());
  const Tensor means = function({}, {mean(last.visible, 0)})({})[0];
  for (int64_t k = 0; k < 6; ++k)  // five standard deviations of a share
    EXPECT_NEAR(means.as_double(k), expected[k] / total, 5 * 0.5 / std::sqrt(static_cast<double>(kChains))) << k;
}

TEST(RbmLayer, TakesRows) {
  Model model({28, 28}, DType::kFloat32, 1);
  EXPECT_EQ(text_without_node([&] {
              model.add(Rbm::Options{{.name = "rbm"}, 5});
            }),
            "error: layer rbm (rbm) does not fit the layer before it\n"
            "  expected: one row of numbers for each example\n"
            "  got:      examples of shape [28, 28]\n"
            "  hint:     a flatten layer before it makes rows");
}

}  // namespace
}  // namespace thtrain
