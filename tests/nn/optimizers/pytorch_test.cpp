// Every optimizer compared with 50 steps of PyTorch's, by its configuration.
#include <gtest/gtest.h>

#include <set>

#include "nn/optimizers/adadelta.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/adamax.h"
#include "nn/optimizers/adamw.h"
#include "nn/optimizers/radam.h"
#include "nn/optimizers/rmsprop.h"
#include "nn/optimizers/sgd.h"
#include "tests/support/optimizer_golden.h"

namespace thtrain {
namespace {

template <class O>
std::unique_ptr<Optimizer> optimizer_of(const GoldenSteps& golden, const std::vector<Param>& params) {
  return kind_of<OptimizerKind<O>>(golden.options).make(params);
}

const std::map<std::string, std::unique_ptr<Optimizer> (*)(const GoldenSteps&, const std::vector<Param>&)> kMake = {
    {"sgd", optimizer_of<Sgd>},           {"adagrad", optimizer_of<Adagrad>}, {"rmsprop", optimizer_of<RmsProp>},
    {"adadelta", optimizer_of<AdaDelta>}, {"adam", optimizer_of<Adam>},       {"adamw", optimizer_of<AdamW>},
    {"adamax", optimizer_of<AdaMax>},     {"radam", optimizer_of<RAdam>}};

TEST(Optimizers, GivePyTorchsNumbersOverFiftySteps) {
  std::set<std::string> seen;
  for (const GoldenSteps& golden : golden_steps("optimizer")) {
    seen.insert(golden.name);
    ASSERT_EQ(golden.losses.size(), 50u);
    GoldenNetwork network;
    auto optimizer = kMake.at(golden.name)(golden, network.params);
    EXPECT_EQ(optimizer->name(), golden.name);
    network.expect_steps(golden, network.step_function(optimizer->updates(network.cost)));
  }
  EXPECT_EQ(seen.size(), kMake.size());
}

TEST(Optimizers, GiveThemInNativeCodeToo) {
  for (const GoldenSteps& golden : golden_steps("optimizer")) {
    if (golden.name == "sgd" || !golden.options.contains("weight_decay")) continue;  // the longest formula of each
    GoldenNetwork network;
    auto optimizer = kMake.at(golden.name)(golden, network.params);
    network.expect_steps(golden, network.step_function(optimizer->updates(network.cost), Mode::kNative));
  }
}

// 50 steps of rounding in float32, where the corrections of Adam's means are made in float64.
TEST(Optimizers, GiveThemInFloat32AsFarAsThatGoes) {
  for (const GoldenSteps& golden : golden_steps("optimizer")) {
    GoldenNetwork network(DType::kFloat32);
    auto optimizer = kMake.at(golden.name)(golden, network.params);
    Function f = network.step_function(optimizer->updates(network.cost));
    for (int64_t t = 0; t < 50; ++t) {
      double loss = network.step(f, t);
      ASSERT_NEAR(loss, golden.losses[static_cast<size_t>(t)], 2e-5 * loss) << golden.text << ", step " << t;
    }
  }
}

}  // namespace
}  // namespace thtrain
