// Layers that draw random numbers while a model learns: dropout and corrupt.
#include "nn/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/layers/corrupt.h"
#include "nn/layers/dense.h"
#include "nn/layers/dropout.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

constexpr int64_t kRows = 400, kColumns = 50;
constexpr double kCount = kRows * kColumns;

Tensor examples() {
  return Tensor::of(RandomState(3).uniform(1, 2, kRows * kColumns), {kRows, kColumns});
}

template <class Options>
Model model_of(const Options& options, int64_t seed = 7) {
  Model out({kColumns}, DType::kFloat64, seed);
  out.add(options);
  return out;
}

// Training on the examples, by a function that moves the generator on.
struct Noisy {
  const Model& model;
  Function f;

  explicit Noisy(const Model& model, Mode mode = Mode::kNative) : model(model), f(make(model, mode)) {}
  Tensor operator()() { return f({examples()})[0]; }
  static Function make(const Model& model, Mode mode) {
    const Expr x = tensor("x", {kRows, kColumns}, DType::kFloat64);
    ModelPass pass = model.pass({x}, Phase::kTraining);
    const Expr y = pass.output();
    return function({x}, {y}, pass.updates(), {.mode = mode});
  }
};

// A share of kCount events of probability p, five standard deviations.
void expect_share(double count, double p, const char* what) {
  EXPECT_NEAR(count / kCount, p, 5 * std::sqrt(p * (1 - p) / kCount)) << what;
}

TEST(DropoutLayer, LeavesOutAShareAndKeepsTheMean) {
  const Model model = model_of(Dropout::Options{{.name = "noise"}, 0.3});
  const Tensor x = examples(), y = Noisy(model)();
  double dropped = 0, total = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (y.as_double(i) == 0)
      ++dropped;
    else
      ASSERT_NEAR(y.as_double(i), x.as_double(i) / 0.7, 1e-12);
    total += y.as_double(i) - x.as_double(i);
  }
  expect_share(dropped, 0.3, "dropped");
  EXPECT_NEAR(total / kCount, 0, 5 * 1.6 * std::sqrt(0.3 / 0.7 / kCount));
}

// Neighbours in a row, in a column, and from call to call have nothing to do with each other.
TEST(DropoutLayer, ItsElementsAreIndependent) {
  const Model model = model_of(Dropout::Options{{.name = "noise"}, 0.5});
  Noisy noisy(model);
  const Tensor first = noisy(), second = noisy();
  double rows = 0, columns = 0, calls = 0;
  for (int64_t i = 0; i < first.size(); ++i) {
    const bool is_out = first.as_double(i) == 0;
    rows += is_out == (first.as_double((i + 1) % first.size()) == 0);
    columns += is_out == (first.as_double((i + kColumns) % first.size()) == 0);
    calls += is_out == (second.as_double(i) == 0);
  }
  expect_share(rows, 0.5, "in a row");
  expect_share(columns, 0.5, "in a column");
  expect_share(calls, 0.5, "in the next call");
}

TEST(DropoutLayer, ItsDerivativeIsItsFactor) {
  const Model model = model_of(Dropout::Options{{.name = "noise"}, 0.25});
  const Expr x = tensor("x", {kRows, kColumns}, DType::kFloat64);
  const Expr y = model.output(x, Phase::kTraining);
  const std::vector<Tensor> got = function({x}, {y, grad(sum(y), x)})({examples()});
  for (int64_t i = 0; i < got[0].size(); ++i)
    ASSERT_EQ(got[1].as_double(i), got[0].as_double(i) == 0 ? 0 : 1 / 0.75) << i;
}

TEST(CorruptLayer, MaskingSetsAShareToZero) {
  const Model model = model_of(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kMasking, 0.3});
  const Tensor x = examples(), y = Noisy(model)();
  double zeros = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    zeros += y.as_double(i) == 0;
    ASSERT_TRUE(y.as_double(i) == 0 || y.as_double(i) == x.as_double(i));
  }
  expect_share(zeros, 0.3, "zeros");
}

TEST(CorruptLayer, SaltAndPepperAreAlike) {
  const Model model = model_of(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kSaltAndPepper, 0.4});
  const Tensor x = examples(), y = Noisy(model)();  // x is never 0 or 1
  double zeros = 0, ones = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    zeros += y.as_double(i) == 0;
    ones += y.as_double(i) == 1;
    ASSERT_TRUE(y.as_double(i) == 0 || y.as_double(i) == 1 || y.as_double(i) == x.as_double(i));
  }
  expect_share(zeros, 0.2, "zeros");
  expect_share(ones, 0.2, "ones");
}

// Mean, variance, and the share within one deviation, 0.6827.
TEST(CorruptLayer, GaussianNoiseIsNormal) {
  const Model model = model_of(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kGaussian, 0.3, 0.2});
  const Tensor x = examples(), y = Noisy(model)();
  double total = 0, squares = 0, within = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double z = (y.as_double(i) - x.as_double(i)) / 0.2;
    total += z;
    squares += z * z;
    within += std::fabs(z) < 1;
  }
  EXPECT_NEAR(total / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2 / kCount));
  expect_share(within, 0.682689492, "within");
}

template <class Options>
void expect_reproducible(const Options& options) {
  const Model one = model_of(options), same = model_of(options), other = model_of(options, 8);
  Noisy native(one), reference(same, Mode::kReference), another(other);
  const Tensor first = native(), second = native();
  EXPECT_TRUE(same_bits(first, reference())) << "the reference";
  EXPECT_TRUE(same_bits(second, reference())) << "its second call";
  EXPECT_FALSE(same_bits(first, second));
  EXPECT_FALSE(same_bits(first, another())) << "another seed";
  // The state decides: put back, it gives the same again.
  const Shared state = one.state().at(0).variable;
  EXPECT_EQ(state.name(), "noise/random");
  RandomState seed(7);
  state.set_value(mrg_state_of(seed, kColumns));
  EXPECT_TRUE(same_bits(first, native()));
  // Evaluation changes nothing, neither x nor the state.
  const Expr x = tensor("x", {kRows, kColumns}, DType::kFloat64);
  ModelPass pass = one.pass({x}, Phase::kEvaluation);
  EXPECT_TRUE(same_bits(function({x}, {pass.output()})({examples()})[0], examples()));
  EXPECT_TRUE(pass.updates().empty());
}

TEST(NoiseLayers, TheSeedDecidesAllBits) {
  expect_reproducible(Dropout::Options{{.name = "noise"}, 0.5});
  expect_reproducible(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kMasking});
  expect_reproducible(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kSaltAndPepper});
}

// Weights may come from a model that draws nothing, and be those of one that does.
TEST(NoiseLayers, GeneratorsAreNotMissedInFiles) {
  Model model({kColumns}, DType::kFloat64, 7);
  model.add(Dropout::Options{{.name = "noise"}, 0.5});
  model.add(Dense::Options{{.name = "dense"}, 2});
  const Shared generator = model.state().at(0).variable;
  const Tensor first = generator.get_value(), w = Tensor::zeros(DType::kFloat64, {kColumns, 2});
  std::map<std::string, Tensor> arrays{{"dense/W", w}, {"dense/b", Tensor::vector({1.0, 2.0})}};
  model.load(arrays, "w.npz");
  EXPECT_TRUE(same_bits(generator.get_value(), first));
  EXPECT_TRUE(same_bits(model.params().at(0).variable.get_value(), w));
  Model without({kColumns}, DType::kFloat64, 7);
  without.add(Dense::Options{{.name = "dense"}, 2});
  arrays["noise/random"] = first;
  without.load(arrays, "w.npz");
  EXPECT_TRUE(same_bits(without.params().at(0).variable.get_value(), w));
  arrays["noise/random"] = Tensor::zeros(DType::kInt32, {6, 3});
  EXPECT_EQ(text_without_node([&] { model.load(arrays, "w.npz"); }),
            str("error: w.npz: noise/random does not fit the model\n"
                "  expected: int32[6, ",
                kColumns,
                "]\n"
                "  got:      int32[6, 3]"));
}

TEST(NoiseLayers, OfNoNoiseGiveWhatTheyTake) {
  const Expr x = tensor("x", {kRows, kColumns}, DType::kFloat64);
  for (const Model& model : {model_of(Dropout::Options{{.name = "noise"}, 0}),
                             model_of(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kMasking, 0}),
                             model_of(Corrupt::Options{{.name = "noise"}, Corrupt::Noise::kGaussian, 0.3, 0})}) {
    ModelPass pass = model.pass({x}, Phase::kTraining);
    EXPECT_TRUE(pass.output().same(x));
    EXPECT_TRUE(pass.updates().empty());
  }
}

}  // namespace
}  // namespace thtrain
