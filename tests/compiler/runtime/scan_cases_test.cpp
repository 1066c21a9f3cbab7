// Cases of Theano's tests of scan that the guide does not have: conditions, truncation, several scans in one gradient,
// outputs of which a few steps are read, and how much memory they take.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

Tensor counted(const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i);
  return out;
}

TEST(ScanCases, TheGradientOfUntilOverRows) {
  const Expr x = matrix("x"), u = scalar("u");
  const auto r = scan([](Expr x, Expr u) { return std::pair(x * x, until(all(gt(x, u)))); },
                      {.sequences = {x}, .non_sequences = {u}})
                     .outputs;
  const Tensor rows = Tensor::of(
      [] {
        std::vector<double> out;
        for (int i = 0; i < 15; ++i) out.insert(out.end(), 5, i);
        return out;
      }(),
      {15, 5});
  const std::vector<Tensor> out = in_all_modes({x, u}, {r, grad(sum(r), x)}, {rows, Tensor(5.0)});
  ASSERT_EQ(out[0].shape(), (Shape{7, 5}));
  for (int64_t t = 0; t < 15; ++t)
    for (int64_t j = 0; j < 5; ++j) EXPECT_EQ(out[1].as_double(5 * t + j), t < 7 ? 2 * static_cast<double>(t) : 0) << t;
}

TEST(ScanCases, TheGradientOfUntilTruncated) {
  const Expr x = vector("x"), u = scalar("u");
  const auto r = scan([](Expr x, Expr u) { return std::pair(x * x, until(gt(x, u))); },
                      {.sequences = {x}, .non_sequences = {u}, .truncate_gradient = 3})
                     .outputs;
  const std::vector<Tensor> out = in_all_modes({x, u}, {r, grad(sum(r), x)}, {counted({15}), Tensor(5.0)});
  EXPECT_EQ(out[0].text(), "[0, 1, 4, 9, 16, 25, 36]");
  EXPECT_EQ(out[1].text(), "[0, 0, 0, 0, 8, 10, 12, 0, 0, 0, 0, 0, 0, 0, 0]");
}

TEST(ScanCases, AConditionOfAStateWithTaps) {
  const Expr first = vector("first", {2});
  const auto fibonacci = scan(
      [](Expr before, Expr last) {
        const Expr next = before + last;
        return std::pair(next, until(gt(next, 20)));
      },
      {.outputs_info = {{first, {-2, -1}}}, .n_steps = 100});
  const Expr last = reduce(
                        [](Expr before, Expr last) {
                          const Expr next = before + last;
                          return std::pair(next, until(gt(next, 20)));
                        },
                        {.outputs_info = {{first, {-2, -1}}}, .n_steps = 100})
                        .outputs;
  const std::vector<Tensor> out =
      in_all_modes({first}, {fibonacci.outputs, last, grad(last, first)}, {Tensor::vector({1.0, 1.0})});
  EXPECT_EQ(out[0].text(), "[2, 3, 5, 8, 13, 21]");
  EXPECT_EQ(out[1].as_double(), 21);
  EXPECT_EQ(out[2].text(), "[8, 13]");
}

TEST(ScanCases, AConditionOfNoStepsGivesNoRows) {
  const Expr x = vector("x"), h0 = scalar("h0"), n = iscalar("n");
  const auto y = scan([](Expr x, Expr h) { return std::pair(h * x, until(gt(x, 5))); },
                      {.sequences = {x}, .outputs_info = {h0}, .n_steps = n})
                     .outputs;
  const Expr cost = sum(y) + h0;
  for (int64_t steps : {0, 2}) {
    const std::vector<Tensor> out =
        in_all_modes({x, h0, n}, {y, grad(cost, x), grad(cost, h0)}, {counted({3}), Tensor(2.0), Tensor(steps)});
    EXPECT_EQ(out[0].text(), steps == 0 ? "[]" : "[0, 0]");
    EXPECT_EQ(out[1].text(), steps == 0 ? "[0, 0, 0]" : "[4, 0, 0]");
    EXPECT_EQ(out[2].as_double(), 1);
  }
}

TEST(ScanCases, AGradientThroughTwoScans) {
  const Expr x = vector("x"), w = scalar("w");
  const Expr one = scan([](Expr x, Expr h, Expr w) { return tanh(w * h + x); },
                        {.sequences = {x}, .outputs_info = {0.1}, .non_sequences = {w}})
                       .outputs;
  const Expr other = scan([](Expr v, Expr h, Expr w) { return sin(h + w * v); },
                          {.sequences = {one}, .outputs_info = {one[-1]}, .non_sequences = {w}, .go_backwards = true})
                         .outputs;
  expect_gradient(sum(sqr(other)) + one[0], {x, w}, {drawn({5}, 1), Tensor(0.8)}, 1e-5);
}

TEST(ScanCases, OneValueGivenTwiceAndOneThatIsNotRead) {
  const Expr x = vector("x"), w = scalar("w");
  const auto made = scan(
      [](Expr x, Expr h, Expr w) -> std::vector<Expr> {
        const Expr next = tanh(w * h + x);
        return {next, next, exp(x), next};
      },
      {.sequences = {x}, .outputs_info = {0.1, std::nullopt, std::nullopt, std::nullopt}, .non_sequences = {w}});
  const std::vector<Expr>& y = made.outputs;
  expect_gradient(sum(y[0]) + 2 * sum(sqr(y[1])) + y[3][-1], {x, w}, {drawn({5}, 1), Tensor(0.8)}, 1e-5);
}

// A counter, and a state of whole numbers with one with a derivative.
TEST(ScanCases, StatesOfOtherDtypes) {
  const Expr x = vector("x"), w = scalar("w");
  const auto made = scan(
      [](Expr x, Expr count, Expr above, Expr h, Expr w) -> std::vector<Expr> {
        const Expr is_above = gt(x, 0.2);
        return {count + cast(is_above, DType::kInt64), logical_or(above, is_above),
                h + switch_(above, w * x, sqr(w) * x) * cast(count + 1, DType::kFloat64)};
      },
      {.sequences = {x},
       .outputs_info = {make_constant(Tensor(int64_t{0})), make_constant(Tensor(false)), 0.0},
       .non_sequences = {w}});
  const std::vector<Tensor> values = {Tensor::vector({0.1, 0.5, -0.3, 0.4}), Tensor(0.7)};
  const std::vector<Tensor> out = in_all_modes({x, w}, made.outputs, values);
  EXPECT_EQ(out[0].text(), "[0, 1, 1, 2]");
  EXPECT_EQ(out[1].text(), "[false, true, true, true]");
  expect_gradient(sum(made.outputs[2]), {x, w}, values, 1e-5);
}

// Which steps are read does not change what they are.
TEST(ScanCases, AFewStepsOfEachOutput) {
  const Expr x = vector("x", {9});
  const auto made = scan(
      [](Expr v, Expr a, Expr b3, Expr b1) -> std::vector<Expr> {
        return {a + v, 0.5 * b3 + v - 0.1 * b1, v * v};
      },
      {.sequences = {x}, .outputs_info = {0.0, {zeros({3}, DType::kFloat64), {-3, -1}}, std::nullopt}});
  const std::vector<Expr>& y = made.outputs;
  std::vector<Expr> parts;
  for (const Expr& all : y)
    parts.insert(parts.end(), {all[-1], all[Slice{.start = -2}], all[Slice{.start = -3, .stop = -1}], all[4],
                               all[Slice{.step = 2}], all[Slice{.step = -3}]});
  const Tensor at = drawn({9}, 1);
  const std::vector<Tensor> whole = in_all_modes({x}, y, {at}), some = in_all_modes({x}, parts, {at});
  for (size_t k = 0; k < 3; ++k) {
    auto expect = [&](size_t part, const std::vector<int64_t>& steps) {
      ASSERT_EQ(some[6 * k + part].size(), static_cast<int64_t>(steps.size()));
      for (size_t i = 0; i < steps.size(); ++i)
        EXPECT_NEAR(some[6 * k + part].as_double(static_cast<int64_t>(i)), whole[k].as_double(steps[i]), 1e-13);
    };
    expect(0, {8});
    expect(1, {7, 8});
    expect(2, {6, 7});
    expect(3, {4});
    expect(4, {0, 2, 4, 6, 8});
    expect(5, {8, 5, 2});
  }
}

// Theano's tests of the memory of reduce, foldl and foldr: only the last value is kept.
TEST(ScanCases, FoldsKeepOneValue) {
  const Expr x = matrix("x", {10000, 100});
  auto add = [](Expr v, Expr s) { return s + sqr(v); };
  const ScanOptions options{.sequences = {x}, .outputs_info = {zeros({100}, DType::kFloat64)}};
  for (const Expr& folded : {foldl(add, options).outputs, foldr(add, options).outputs, reduce(add, options).outputs,
                             scan(add, options).outputs[-1]})
    EXPECT_LT(function({x}, {folded}).info().arena_bytes, 10'000);
}

}  // namespace
}  // namespace thtrain
