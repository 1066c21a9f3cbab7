// Functions on the targets that are no processor's: the entry's own forms, and what is left to references.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/target_calls.h"

namespace thtrain::other_targets_test {
namespace {

class OtherTargets : public testing::TestWithParam<kernel::Target> {
 protected:
  static FunctionOptions options() { return {.target = GetParam()}; }
};

TEST_P(OtherTargets, LoopsAndBranchesEqualTheReference) {
  const Expr x = f64("x", {"n", 3}), w = f64("w", {3, 3});
  const Expr start = make_constant(Tensor::zeros(DType::kFloat64, {3}));
  const auto [states, updates] = scan([](Expr row, Expr h, Expr w) { return tanh(dot(h, w) + row); },
                                      {.sequences = {x}, .outputs_info = {start}, .non_sequences = {w}});
  expect_equal({x, w},
               {states, if_else(
                            gt(sum(x), 0), [&] { return x * 2; }, [&] { return exp(x); })},
               {numbers({5, 3}), numbers({3, 3})}, options());
}

TEST_P(OtherTargets, UpdatesAreWrittenInPlace) {
  Shared w(numbers({4, 3})), other_w(numbers({4, 3}));
  const Expr x = f64("x", {"n", 4});
  auto step = [&](Shared& of, const FunctionOptions& with) {
    const Expr error = dot(x, of.expr()) - 1.0;
    return function({x}, {mean(sqr(error))}, {{of, of.expr() - 0.1 * dot(transpose(x), error)}}, with);
  };
  Function native = step(w, {}), f = step(other_w, options());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(difference(f({numbers({5, 4})})[0], native({numbers({5, 4})})[0], 64));
  EXPECT_FALSE(difference(other_w.get_value(), w.get_value(), 64));
}

TEST_P(OtherTargets, LengthsMayFollowFromTheData) {
  const Expr x = f64("x", {"n"});
  const Expr found = nonzero(gt(x, 0))[0];
  expect_equal({x}, {found, take(x, found) * 2.0, concatenate({x, take(x, found)}, 0)}, {numbers({50})}, options());
}

TEST_P(OtherTargets, ErrorsAreThoseOfAProcessor) {
  const Expr x = f64("x", {"n"}), i = tensor("i", {"m"}, DType::kInt64);
  for (const Tensor& wrong : {Tensor::of(std::vector<int64_t>{0, 7}, {2}), Tensor::of(std::vector<int64_t>{-6}, {1})}) {
    auto text = [&](const FunctionOptions& with) {
      Function f = function({x, i}, {take(x, i)}, {}, with);
      return text_without_node([&] { f({numbers({5}), wrong}); });
    };
    EXPECT_EQ(text(options()), text({}));
    EXPECT_TRUE(text(options()).starts_with("error: "));
  }
}

TEST_P(OtherTargets, WhatHasNoLoopsIsComputedByTheReference) {
  const Expr m = f64("m", {9, 9});
  RandomStreams random(5), other(5);
  Function f = function({m}, {inverse(m + 20.0 * eye(9)), random.gamma({4}, 2.0)}, {}, options()),
           native = function({m}, {inverse(m + 20.0 * eye(9)), other.gamma({4}, 2.0)});
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> got = f({numbers({9, 9})}), expected = native({numbers({9, 9})});
    for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(difference(got[i], expected[i], 64));
  }
  std::vector<std::string> names = f.info().reference_steps;
  std::sort(names.begin(), names.end());
  // Devices have kernels for large matrices.
  std::vector<std::string> on_host{"mt_gamma"};
  if (!options().target->is_device()) on_host = {"lu", "mt_gamma", "triangular_solve", "triangular_solve"};
  EXPECT_EQ(names, on_host);
  EXPECT_TRUE(native.info().reference_steps.empty());
}

TEST_P(OtherTargets, DebugModeAndTheProfileSeeEachStep) {
  const Expr x = f64("x", {"n", 3});
  FunctionOptions debug = options();
  debug.mode = Mode::kDebug;
  expect_equal({x}, {softmax(x), sum(dot(x, transpose(x)))}, {numbers({4, 3})}, debug);
  Function f = function({x}, {sum(exp(x))}, {}, options());
  f.start_profile();
  f({numbers({4, 3})});
  const Profile profile = f.profile();
  EXPECT_EQ(profile.calls, 1);
  EXPECT_EQ(profile.clock,
            options().target->is_device() ? "events of the emulated device, whose clock is the host's" : "");
  for (const StepProfile& step : profile.steps) EXPECT_GT(step.seconds, 0) << step.code;
}

INSTANTIATE_TEST_SUITE_P(Each, OtherTargets, testing::Values(kernel::c99_target(2), device_under_test()),
                         [](const testing::TestParamInfo<kernel::Target>& info) {
                           return info.param.kind == kernel::Target::Kind::kC99 ? "c99" : "cuda";
                         });

}  // namespace
}  // namespace thtrain::other_targets_test
