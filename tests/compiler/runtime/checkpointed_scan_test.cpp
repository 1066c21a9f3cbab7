// Checkpointed scans give what scans give, in memory that grows as the root of the number of steps.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

std::vector<Tensor> reference(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                              const std::vector<Tensor>& values) {
  return function({inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, {},
                  {.mode = Mode::kReference})(values);
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, double bound = 1e-12) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].shape(), wanted[o].shape()) << "output " << o;
    for (int64_t i = 0; i < got[o].size(); ++i)
      EXPECT_NEAR(got[o].as_double(i), wanted[o].as_double(i), bound * std::max(1.0, std::abs(wanted[o].as_double(i))))
          << "output " << o << ", element " << i;
  }
}

// h = tanh(h W + x), and sum(h) in each step, which no later step reads.
const Expr W = tensor("W", {3, 3}, DType::kFloat64), h0 = tensor("h0", {3}, DType::kFloat64);

std::vector<Expr> step(const Expr& x_t, const Expr& h) {
  const Expr next = tanh(dot(h, W) + x_t);
  return {next, sum(next)};
}

ScanOptions options_of(const Expr& x, bool go_backwards = false) {
  return {.sequences = {x}, .outputs_info = {h0, std::nullopt}, .go_backwards = go_backwards};
}

// The last state, all sums, and gradients of a cost that reads both.
std::vector<Expr> values_of(const Expr& last, const Expr& sums, const Expr& x) {
  const Expr cost = sum(sin(last)) + sum(sqr(cumsum(sums, 0)));
  std::vector<Expr> out = grad(cost, {x, h0, W}, {.disconnected = Disconnected::kZero});
  out.insert(out.end(), {last, sums});
  return out;
}
std::vector<Expr> by_scan(const Expr& x, bool go_backwards = false) {
  const std::vector<Expr> all = scan([](Expr x, Expr h) { return step(x, h); }, options_of(x, go_backwards)).outputs;
  return values_of(join(0, {expand_dims(h0, {0}), all[0]})[-1], all[1], x);
}
std::vector<Expr> in_blocks(const Expr& x, std::optional<int64_t> every, bool go_backwards = false) {
  const auto made =
      checkpointed_scan([](Expr x, Expr h) { return step(x, h); }, options_of(x, go_backwards), every).outputs;
  return values_of(made[0], made[1], x);
}

TEST(CheckpointedScan, HasTheValuesAndGradientsOfAScan) {
  for (int64_t steps : {0, 1, 2, 7, 9, 10, 12})
    for (std::optional<int64_t> every :
         {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(3), std::optional<int64_t>(12)})
      for (bool known : {true, false}) {
        SCOPED_TRACE(str(steps, " steps, every ", every.value_or(0), known ? ", known" : ", unknown"));
        const Expr x = known ? tensor("x", {steps, 3}, DType::kFloat64) : tensor("x", {"n", 3}, DType::kFloat64);
        const std::vector<Tensor> values = {drawn({steps, 3}, 1), drawn({3}, 2), drawn({3, 3}, 3)};
        const bool backwards = steps == 10;
        expect_same(reference({x, h0, W}, in_blocks(x, every, backwards), values),
                    reference({x, h0, W}, by_scan(x, backwards), values));
      }
}

TEST(CheckpointedScan, HasThemInEveryMode) {
  const Expr x = tensor("x", {10, 3}, DType::kFloat64), y = tensor("y", {"n", 3}, DType::kFloat64);
  const std::vector<Tensor> values = {drawn({10, 3}, 1), drawn({3}, 2), drawn({3, 3}, 3)};
  const std::vector<Tensor> wanted = reference({x, h0, W}, by_scan(x), values);
  expect_same(in_all_modes({x, h0, W}, in_blocks(x, {}), values), wanted);
  expect_same(in_all_modes({y, h0, W}, in_blocks(y, {}), values), wanted);
  expect_same(in_all_modes({y, h0, W}, in_blocks(y, 5, true), values), reference({x, h0, W}, by_scan(x, true), values));
}

TEST(CheckpointedScan, HasForwardModeAndSecondDerivatives) {
  const Expr x = tensor("x", {7, 3}, DType::kFloat64);
  const std::vector<Tensor> values = {drawn({7, 3}, 1), drawn({3}, 2), drawn({3, 3}, 3)};
  auto derivatives = [&](const std::vector<Expr>& made) -> std::vector<Expr> {
    return {grad(sum(sqr(made[2])), W), jvp(made[3], x, cos(x))};
  };
  expect_same(reference({x, h0, W}, derivatives(in_blocks(x, {})), values),
              reference({x, h0, W}, derivatives(by_scan(x)), values), 1e-10);
}

TEST(CheckpointedScan, MovesVariablesAndGeneratorsOnAsAScanDoes) {
  Shared a(2.0, "a"), b(2.0, "b");
  const Expr x = vector("x", {3});
  auto run = [&](const Shared& variable, bool checkpointed) {
    RandomStreams streams(5);
    auto noisy = [&](Expr h) {
      return std::pair(std::vector<Expr>{tanh(h * variable + streams.normal({3}))},
                       std::vector<Update>{{variable, 0.5 * variable + sin(sum(h))}});
    };
    const ScanOptions options{.outputs_info = {x}, .n_steps = 11};
    if (checkpointed) {
      auto [made, updates] = checkpointed_scan(noisy, options);
      return function({x}, {made[0]}, updates);
    }
    auto [made, updates] = scan(noisy, options);
    return function({x}, {made[0][-1]}, updates);
  };
  Function checkpointed = run(a, true), plain = run(b, false);
  const Tensor first = drawn({3}, 1);
  for (int call = 0; call < 3; ++call) {
    expect_same(checkpointed({first}), plain({first}));
    EXPECT_NEAR(a.get_value().as_double(), b.get_value().as_double(), 1e-9);
  }
}

TEST(CheckpointedScan, PrintsOnceInEachStep) {
  const Expr x = vector("x", {1});
  auto [made, updates] = checkpointed_scan([](Expr h) { return std::vector<Expr>{print(h + 1, "h")}; },
                                           {.outputs_info = {x}, .n_steps = 5});
  Function f = function({x}, {made[0], grad(sum(sqr(made[0])), x)}, updates);
  testing::internal::CaptureStderr();
  f({Tensor::vector({0.0})});
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 5) << printed;
}

// Temporaries of the last state's gradient. The products of the inputs do not leave the blocks: of all steps they would
// take as much memory as the states.
int64_t bytes_of(int64_t steps, bool checkpointed) {
  const Expr u = tensor("u", {steps, 4}, DType::kFloat64), h = tensor("h", {64}, DType::kFloat64),
             U = tensor("U", {4, 64}, DType::kFloat64), V = tensor("V", {64, 64}, DType::kFloat64);
  auto step = [&](Expr u_t, Expr h) { return std::vector<Expr>{tanh(dot(h, V) + dot(u_t, U))}; };
  const ScanOptions options{.sequences = {u}, .outputs_info = {h}};
  const Expr last = checkpointed ? checkpointed_scan(step, options).outputs[0] : scan(step, options).outputs[0][-1];
  const std::vector<Expr> gradients = grad(sum(sqr(last)), {h, U, V});
  return function({u, h, U, V}, {gradients.begin(), gradients.end()}).info().arena_bytes;
}

TEST(CheckpointedScan, TakesMemoryAsTheRootOfTheNumberOfSteps) {
  const int64_t few = bytes_of(100, true), some = bytes_of(2500, true), many = bytes_of(10000, true);
  const std::string text = str("100 steps: ", few, ", 2500: ", some, ", 10000: ", many, " bytes");
  EXPECT_LE(some, 5 * few) << text;
  EXPECT_LE(many, 10 * few) << text;
  EXPECT_GE(bytes_of(10000, false), 20 * many) << text;
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

TEST(CheckpointedScanErrors, WhatItRefuses) {
  const Expr u = vector("u", {9}), h = scalar("h"), deep = vector("deep", {2});
  auto one = [](Expr x, Expr h) { return x + h; };
  auto two = [](Expr x, Expr y, Expr h) { return x + y + h; };
  EXPECT_EQ(text_without_node([&] {
              checkpointed_scan(two, {.sequences = {{u, {-1, 0}}}, .outputs_info = {h}});
            }),
            "error: checkpointed_scan: sequence 0 has taps\n"
            "  expected: the tap 0 alone\n"
            "  got:      [-1, 0]\n"
            "  hint:     walk shifted slices of it: {x[Slice{.stop = -1}]} and {x[Slice{.start = 1}]} are the taps -1 "
            "and 0");
  EXPECT_EQ(text_without_node([&] {
              checkpointed_scan(two, {.sequences = {u}, .outputs_info = {{deep, {-2, -1}}}, .name = "rnn"});
            }),
            "error: checkpointed_scan rnn: output 0 has taps\n"
            "  expected: the tap -1 alone\n"
            "  got:      [-2, -1]\n"
            "  hint:     give the step function earlier values as further outputs");
  EXPECT_EQ(text_without_node(
                [&] { checkpointed_scan(one, {.sequences = {u}, .outputs_info = {h}, .truncate_gradient = 3}); }),
            "error: checkpointed_scan: truncate_gradient is set\n"
            "  expected: -1: a gradient that goes back through all steps\n"
            "  got:      3\n"
            "  hint:     scan() truncates");
  EXPECT_EQ(text_without_node([&] { checkpointed_scan(one, {.sequences = {u}, .outputs_info = {h}}, 0); }),
            "error: checkpointed_scan: save_every_N is less than 1\n"
            "  expected: a number of steps\n"
            "  got:      0");
  EXPECT_EQ(text_without_node([&] {
              checkpointed_scan([](Expr x, Expr h) { return std::pair(x + h, until(gt(h, 3))); },
                                {.sequences = {u}, .outputs_info = {h}});
            }),
            "error: scan: the step function gives until(condition)\n"
            "  expected: a number of steps that is known before the loop");
}

}  // namespace
}  // namespace thtrain
