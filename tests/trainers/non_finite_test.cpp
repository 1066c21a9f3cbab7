// A loss or a weight that is not finite: where it came from, and what is kept.
#include "trainers/non_finite.h"

#include <filesystem>
#include <regex>

#include "compiler/base/file.h"
#include "compiler/ir/bad_values.h"
#include "datasets/sources/digits.h"
#include "nn/schedules/exponential.h"
#include "nn/schedules/plateau.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

using Compute = CompilerConfig::Mode;

struct Failure {
  std::string text;
  int64_t epoch = 0, step = -1;
};

Failure failure_of(const Experiment& e, const RunFolder& folder) {
  RunFolder mine = folder;
  try {
    train(e, load_data(e, ""), mine);
  } catch (const NonFiniteLoss& error) {
    return {error.what(), error.epoch(), error.step()};
  }
  return {"no failure"};
}

void expect_finite_checkpoint(const RunFolder& folder, int64_t step) {
  Checkpoint kept = read_checkpoint(folder.checkpoint());
  EXPECT_EQ(kept.state.step, step);
  for (const NamedArrays& arrays : {kept.weights, kept.optimizer})
    for (const auto& [name, value] : arrays) EXPECT_FALSE(first_non_finite(value)) << name;
}

class NonFinite : public testing::TestWithParam<Compute> {};

TEST_P(NonFinite, NamesLayerExpressionStepAndElement) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Softmax::Options softmax;
  softmax.name = "softmax";
  softmax.bias = false;
  softmax.init.law = Init::Law::kConstant;
  softmax.init.value = 1e38;
  softmax.section.position = {
      .file = "a.toml", .line = 9, .column = 1, .length = 16, .source_line = "[[model.layers]]"};
  e.model.layers = {softmax};
  e.loss.l2 = 0;
  e.trainer.shuffle = false;
  e.compiler.mode = GetParam();
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  Failure failure = failure_of(e, folder);
  EXPECT_EQ(failure.epoch, 1);
  EXPECT_EQ(failure.step, 0);
  std::string text = std::regex_replace(failure.text, std::regex("built at ([a-z/]*\\.cpp):[0-9]+"), "built at $1:N");
  text = std::regex_replace(text, std::regex("finite values of [a-z]+\\(.*train_x.*, softmax/W.*\\)"),
                            "finite values of E");
  EXPECT_EQ(text, str("error: the loss is not finite: epoch 1, minibatch 1 of 10, step 1\n"
                      "  expected: finite values of E\n"
                      "  got:      inf at [0, 0] of float32[20, 10], the first bad value\n"
                      "  node:     softmax, built at nn/layers/dense.cpp:N\n"
                      "  config:   a.toml:9:1\n"
                      "      9 | [[model.layers]]\n"
                      "        | ^^^^^^^^^^^^^^^^\n"
                      "  hint:     ",
                      folder.checkpoint(),
                      " (step 0) is from before it and all finite;\n"
                      "            no weight was changed before it: look at the scale of the data, the first weights, "
                      "and [loss]"))
      << failure.text;
  expect_finite_checkpoint(folder, 0);
}

// The weights grow tenfold with each step, and the penalty overflows in the third epoch.
TEST_P(NonFinite, ReplaysFromTheLastCheckpoint) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.loss.l2 = 110;
  sgd_of(e).momentum = 0;
  e.trainer.epochs = 10;
  e.trainer.checkpoint_epochs = 1;
  e.compiler.mode = GetParam();
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  Failure failure = failure_of(e, folder);
  EXPECT_GE(failure.step, 18);
  EXPECT_LE(failure.step, 24);
  EXPECT_EQ(failure.epoch, failure.step / 10 + 1);
  EXPECT_NE(failure.text.find(
                str("epoch ", failure.epoch, ", minibatch ", failure.step % 10 + 1, " of 10, step ", failure.step + 1)),
            std::string::npos)
      << failure.text;
  EXPECT_NE(failure.text.find("hidden/W"), std::string::npos) << failure.text;
  EXPECT_NE(failure.text.find("node:     penalty"), std::string::npos) << failure.text;
  expect_finite_checkpoint(folder, failure.step / 10 * 10);
}

// A weight that overflows in the last step of a run is found before it would be saved.
TEST_P(NonFinite, AWeightBeforeTheCheckpoint) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  sgd_of(e).momentum = 0;
  e.loss.l2 = 0;
  e.model.layers[0].get<Dense::Options>().activation = "linear";
  e.model.layers[0].get<Dense::Options>().init.law = Init::Law::kConstant;
  e.model.layers[0].get<Dense::Options>().init.value = 1e34;
  sgd_of(e).learning_rate = 1e5;
  e.trainer.epochs = 1;
  e.trainer.batch_size = 200;
  DigitsConfig digits = e.data.get<DigitsConfig>();
  digits.n_valid = digits.n_test = 0;
  e.data = digits;
  e.compiler.mode = GetParam();
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  Failure failure = failure_of(e, folder);
  EXPECT_EQ(failure.step, 0);
  EXPECT_EQ(failure.text.find("error: a weight is not finite: epoch 1, minibatch 1 of 1, step 1"), 0u) << failure.text;
  // The reference meets the product with the learning rate; by native code the whole update is one matrix product, and
  // that is the layer's.
  const char* where = GetParam() == Compute::kNative ? "\n  node:     softmax, " : "\n  node:     sgd/softmax/W, ";
  EXPECT_NE(failure.text.find(where), std::string::npos) << failure.text;
  expect_finite_checkpoint(folder, 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, NonFinite, testing::Values(Compute::kNative, Compute::kReference),
                         [](const auto& info) { return info.param == Compute::kNative ? "native" : "reference"; });

// On a device losses are read once an epoch: what is said is the same, down to the minibatch.
TEST(NonFiniteOnADevice, IsNamedAsOnAProcessor) {
  TemporaryFolder temporary;
  auto failure_on = [&](CompilerConfig::Device device) {
    Experiment e = small_experiment();
    e.loss.l2 = 110;
    sgd_of(e).momentum = 0;
    e.trainer.epochs = 10;
    e.trainer.checkpoint_epochs = 1;
    e.compiler.device = device;
    const std::string path = temporary.path("run");
    std::filesystem::remove_all(path);
    return failure_of(e, RunFolder::create(path, e));
  };
  const Failure expected = failure_on(CompilerConfig::Device::kCpu),
                found = failure_on(CompilerConfig::Device::kEmulated);
  EXPECT_EQ(found.epoch, expected.epoch);
  EXPECT_EQ(found.step, expected.step);
  EXPECT_NE(found.step % 10, 9) << "the last minibatch of an epoch, where both read the loss";
  EXPECT_EQ(found.text, expected.text);
}

// The steps are repeated with the rates that they had: only so the one that went bad is found again.
TEST(NonFiniteReplay, GoesByTheSchedules) {
  for (bool has_plateau : {false, true}) {
    TemporaryFolder temporary;
    Experiment e = reference_experiment();
    e.trainer.validation_frequency = 2;
    ScheduleKind<ExponentialSchedule> grows;
    grows.decay = 30;
    grows.per = ScheduleUnit::kStep;
    e.trainer.schedule = grows;
    if (has_plateau) e.trainer.momentum_schedule = ScheduleKind<PlateauSchedule>();
    RunFolder folder = RunFolder::create(temporary.path("run"), e);
    const Failure failure = failure_of(e, folder);
    EXPECT_GT(failure.step, 2);
    EXPECT_NE(failure.text.find(" is not finite: epoch 1, minibatch "), std::string::npos) << failure.text;
    EXPECT_EQ(failure.text.find("were finite when they were repeated"), std::string::npos) << failure.text;
  }
}

}  // namespace
}  // namespace thtrain
