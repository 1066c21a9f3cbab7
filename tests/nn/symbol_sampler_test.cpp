#include "nn/symbol_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "nn/layers/dense.h"
#include "nn/layers/one_hot.h"
#include "nn/layers/rnn.h"
#include "nn/layers/softmax.h"
#include "tests/support/datasets_support.h"

namespace thtrain::symbol_sampler_test {

// A model of three symbols, each of which is its own number; `carry`: does the recurrent layer keep its state?
Model recurrent_model(bool carry) {
  Model model = Model::with_inputs({{"x", {1}, true}}, DType::kFloat64, 3, 3);
  model.set_batch(1);
  model.add(OneHot::Options{{.name = "symbols"}});
  Rnn::Options rnn{{{.name = "rnn"}}};
  rnn.units = 4;
  rnn.carry = carry;
  model.add(rnn);
  Softmax::Options softmax{{.name = "softmax"}};
  softmax.init = {.law = Init::Law::kNormal, .deviation = 2};
  model.add(softmax);
  return model;
}

std::vector<int64_t> drawn(SymbolSampler& sampler, int64_t seed, double temperature, int count = 40) {
  RandomState random(seed);
  std::vector<int64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(sampler.next(random, temperature));
  return out;
}

TEST(SymbolSampler, DrawsTheSameAgainAfterBegin) {
  const Model model = recurrent_model(true);
  SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kNumber);
  const std::vector<int64_t> first = drawn(sampler, 5, 1);
  sampler.begin();
  EXPECT_EQ(drawn(sampler, 5, 1), first);
  EXPECT_NE(drawn(sampler, 5, 1), first);  // it goes on
}

TEST(SymbolSampler, GoesOnFromTheStateOfTheLayers) {
  // What follows a symbol depends on those before it only by the state.
  auto logits_differ = [](bool carry) {
    const Model model = recurrent_model(carry);
    SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kNumber);
    std::set<std::vector<int64_t>> seen;
    for (int64_t before : {0, 1, 2}) {
      sampler.begin();
      for (int i = 0; i < 3; ++i) sampler.take(before);
      sampler.take(1);
      seen.insert(drawn(sampler, 1, 1));
    }
    return seen.size() > 1;
  };
  EXPECT_TRUE(logits_differ(true));
  EXPECT_FALSE(logits_differ(false));
}

TEST(SymbolSampler, TemperatureZeroTakesTheLargestLogit) {
  const Model model = recurrent_model(true);
  SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kNumber);
  sampler.take(0);
  const std::vector<int64_t> first = drawn(sampler, 1, 0);
  sampler.begin();
  sampler.take(0);
  EXPECT_EQ(drawn(sampler, 2, 0), first);
}

TEST(SymbolSampler, RowsOfZerosAndAOne) {
  Model model = Model::with_inputs({{"x", {3}, true}}, DType::kFloat64, 3, 3);
  model.set_batch(1);
  Softmax::Options softmax{{.name = "softmax"}};
  softmax.init = {.law = Init::Law::kNormal, .deviation = 50};
  model.add(softmax);
  const Tensor w = model.params()[0].variable.get_value();
  SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kOneHot);
  RandomState random(1);
  for (int64_t symbol = 0; symbol < 3; ++symbol) {
    sampler.take(symbol);
    int64_t largest = 0;
    for (int64_t k = 1; k < 3; ++k)
      if (w.at<double>({symbol, k}) > w.at<double>({symbol, largest})) largest = k;
    EXPECT_EQ(sampler.next(random, 0), largest);
  }
}

TEST(SymbolSampler, OutputsSymbolsAndTemperaturesThatAreNone) {
  const Model model = recurrent_model(true);
  EXPECT_EQ(error_text([&] { SymbolSampler(model, "rnn", 9, SymbolSampler::Input::kNumber); }),
            "error: the output rnn does not tell the next symbol of a text\n"
            "  expected: logits of 9 symbols at each step of a sequence: the layer softmax\n"
            "  got:      at each step float64[1, 4]");
  SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kNumber);
  EXPECT_EQ(error_text([&] { sampler.take(3); }), "error: there is no such symbol\n  expected: 0 to 2\n  got:      3");
  RandomState random(1);
  EXPECT_EQ(error_text([&] { sampler.next(random, -1); }),
            "error: the temperature is out of range\n  expected: at least 0\n  got:      -1");
}

TEST(SymbolSampler, WeightsThatAreNotFinite) {
  const Model model = recurrent_model(true);
  SymbolSampler sampler(model, "softmax", 3, SymbolSampler::Input::kNumber, {}, "best.npz");
  model.params()[1].variable.set_value(Tensor::of(std::vector<double>(16, 1e308), {4, 4}));
  model.params().back().variable.set_value(Tensor::vector({HUGE_VAL, 0.0, 0.0}));
  EXPECT_EQ(error_text([&] { sampler.take(0); }),
            "error: best.npz: the model gives numbers that are not finite\n"
            "  expected: weights of a run that did not diverge");
}

}  // namespace thtrain::symbol_sampler_test
