// compiler.mode = "nan_guard" in whole runs.
#include <gtest/gtest.h>

#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

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
