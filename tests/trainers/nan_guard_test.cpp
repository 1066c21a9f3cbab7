// compiler.mode = "nan_guard" in whole runs.
#include <gtest/gtest.h>

#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"
#include "trainers/non_finite.h"
#include "trainers/run_end.h"
#include "trainers/run_record.h"

namespace thtrain::nan_guard_run_test {
namespace {

using Compute = CompilerConfig::Mode;

// Its first loss is an infinity less an infinity.
Experiment bad_experiment() {
  Experiment out = small_experiment();
  Softmax::Options softmax;
  softmax.name = "softmax";
  softmax.bias = false;
  softmax.init.law = Init::Law::kConstant;
  softmax.init.value = 1e38;
  softmax.section.position = {
      .file = "a.toml", .line = 9, .column = 1, .length = 16, .source_line = "[[model.layers]]"};
  out.model.layers = {softmax};
  out.loss.l2 = 0;
  out.compiler.mode = Compute::kNanGuard;
  return out;
}

// What ends the run, and the weights of its last checkpoint.
std::pair<std::string, NamedArrays> trained(const Experiment& e) {
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::string text = "no error";
  try {
    train(e, load_data(e, ""), folder);
  } catch (const Error& error) {
    text = error.what();
  }
  return {text, read_checkpoint(folder.checkpoint()).weights};
}

TEST(NanGuardOfARun, NamesTheLayerAndItsLine) {
  const std::string text = trained(bad_experiment()).first;
  EXPECT_NE(text.find(": the first infinity is made by step "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  node:     softmax, built at nn/layers/dense.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  config:   a.toml:9:1\n"), std::string::npos) << text;
}

TEST(NanGuardOfARun, EndsItAsALossThatIsNotFinite) {
  Experiment e = small_experiment();
  e.compiler.mode = Compute::kNanGuard;
  sgd_of(e).learning_rate = 1e30;
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  try {
    with_noted_end(folder, [&] { return train(e, load_data(e, ""), folder); });
    FAIL();
  } catch (const NonFiniteLoss& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.epoch(), 1);
    EXPECT_EQ(error.step(), 0);
    EXPECT_TRUE(text.starts_with("error: epoch 1, minibatch 1 of 10, step 1: ")) << text;
    EXPECT_EQ(text.find(" of learning_rate\n"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(
        str("  hint:     ", folder.checkpoint(),
            " (step 0) is from before it and all finite;\n"
            "            no weight was changed before it: look at the scale of the data, the first weights, and [loss];"
            "\n            where it is in the update, ",
            divergence_advice(e))))
        << text;
  }
  EXPECT_EQ(read_run(folder.path()).end, RunEnd::kNonFinite);
}

// The weights of a step may be good, and what they are measured with bad.
TEST(NanGuardOfARun, EndsSoWhereItIsMeasured) {
  Experiment e = small_experiment();
  e.compiler.mode = Compute::kNanGuard;
  e.model.layers[0].get<Dense::Options>().activation = "linear";
  Dataset data = load_data(e, "");
  data.valid = Split(data.valid.x_array(), data.valid.y_array(), Targets::kClasses, 1e30).part(0, data.valid.size());
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  try {
    train(e, data, folder);
    FAIL();
  } catch (const NonFiniteLoss& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("error: epoch 1, measured after step 10: ")) << error.what();
    EXPECT_EQ(read_checkpoint(folder.checkpoint()).state.step, 10);
  }
}

TEST(NanGuardOfARun, ObeysItsKeys) {
  auto said = [](Experiment e, bool nan, bool infinity, double above) {
    e.compiler.guard_nan = nan;
    e.compiler.guard_infinity = infinity;
    e.compiler.guard_above = above;
    const std::string text = trained(e).first;
    const size_t begin = text.find(": the first "), end = text.find(" is made by step");
    return begin == std::string::npos || end == std::string::npos ? text.substr(0, text.find(':', 7))
                                                                  : text.substr(begin + 12, end - begin - 12);
  };
  EXPECT_EQ(said(bad_experiment(), true, true, 0), "infinity");
  EXPECT_EQ(said(bad_experiment(), true, false, 0), "NaN");
  EXPECT_EQ(said(bad_experiment(), false, false, 0), "error: the loss is not finite") << "what every mode finds";
  Experiment sound = small_experiment();
  sound.compiler.mode = Compute::kNanGuard;
  EXPECT_EQ(said(sound, true, true, 1e-3), "number that is too large");
  EXPECT_EQ(said(sound, true, true, 1e10), "no error");
}

TEST(NanGuardOfARun, HasTheBitsOfNativeCode) {
  Experiment e = small_experiment();
  const auto native = trained(e);
  e.compiler.mode = Compute::kNanGuard;
  const auto guarded = trained(e);
  EXPECT_EQ(guarded.first, "no error");
  expect_same(guarded.second, native.second);
}

}  // namespace
}  // namespace thtrain::nan_guard_run_test
