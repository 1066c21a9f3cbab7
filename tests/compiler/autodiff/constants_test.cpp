// GradOptions::consider_constant and JvpOptions::consider_constant: values, each by itself.
#include <gtest/gtest.h>

#include "compiler/api.h"

namespace thtrain::constants_test {
namespace {

using Values = std::vector<Expr>;

const Expr x = vector("x", {2}), w = vector("w", {2});
const std::vector<Tensor> kAt{Tensor::vector({1.0, 2.0}), Tensor::vector({0.5, 3.0})};

std::string text_of(const Expr& value) {
  return function({x, w}, {value}, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed})(kAt)[0]
      .text();
}

// Values of x and w of which the first is x w and the second x^2.
std::vector<std::pair<std::string, Values>> pairs() {
  auto both = [](const Expr& a) { return Values{a * w, sqr(a)}; };
  const Values looped = repeat(1, {x, x}, [&](const Values& s) { return both(s[0]); });
  const Values until = repeat_until(1, {x, x}, [&](const Values& s) {
                         return Iteration{both(s[0]), gt(sum(s[0]), 100)};
                       }).state;
  const Values branch = if_else(
      gt(sum(x), 0), [&] { return both(x); },
      [&] {
        return Values{x, x};
      });
  const Values reduced =
      reduce([&](const Expr& a, const Expr&) { return both(a); }, {.outputs_info = {x, x}, .n_steps = 1}).outputs;
  const Values scanned = scan([&](const Expr& a) { return both(a); }, {.sequences = {expand_dims(x, {0})}}).outputs;
  const Values called = OpFromGraph([&](const Values& in) { return both(in[0]); })({x});
  return {{"repeat", looped},  {"repeat_until", until}, {"if_else", branch},
          {"reduce", reduced}, {"scan", scanned},       {"op_from_graph", called}};
}

TEST(Constants, OneOutputOfANodeLeavesTheOthersAsTheyAre) {
  for (const auto& [name, v] : pairs()) {
    SCOPED_TRACE(name);
    const Expr cost = sum(v[0]) + sum(v[1]);
    EXPECT_EQ(text_of(grad(cost, x)), "[2.5, 7]");
    EXPECT_EQ(text_of(grad(cost, x, {.consider_constant = {v[0]}})), "[2, 4]");
    EXPECT_EQ(text_of(grad(cost, x, {.consider_constant = {v[1]}})), "[0.5, 3]");
    EXPECT_EQ(text_of(grad(cost, x, {.consider_constant = {v[0], v[1]}, .disconnected = Disconnected::kZero})),
              "[0, 0]");
    EXPECT_EQ(text_of(jvp(cost, x, x)), "16.5");
    EXPECT_EQ(text_of(jvp(cost, x, x, {.consider_constant = {v[0]}})), "10");
    EXPECT_EQ(text_of(jvp(cost, x, x, {.consider_constant = {v[1]}})), "6.5");
  }
}

TEST(Constants, OneOutputOfDivmod) {
  const auto [quotient, rest] = divmod(w, x);
  EXPECT_EQ(text_of(grad(sum(quotient) + sum(rest), w, {.consider_constant = {quotient}})), "[1, 1]");
  EXPECT_EQ(text_of(jvp(sum(quotient) + sum(rest), w, w, {.consider_constant = {quotient}})), "3.5");
}

// A constant stops the way through it to what it is computed from; it has itself a derivative.
TEST(Constants, MayBeWhatTheDerivativeIsTakenTo) {
  const Expr square = sqr(x), cost = sum(square * x);
  EXPECT_EQ(text_of(grad(cost, x, {.consider_constant = {x}})), "[3, 12]")
      << "as without it: x is computed from nothing";
  EXPECT_EQ(text_of(grad(cost, x, {.consider_constant = {square, x}})), "[1, 4]");
  EXPECT_EQ(text_of(grad(cost, square, {.consider_constant = {square}})), "[1, 2]");
  EXPECT_EQ(text_of(grad(cost, Values{square, x}, {.consider_constant = {square}})[1]), "[1, 4]");
  EXPECT_EQ(text_of(jvp(cost, x, w, {.consider_constant = {x}})), "37.5");
  EXPECT_EQ(text_of(jvp(cost, x, w, {.consider_constant = {square, x}})), "12.5");
  EXPECT_EQ(text_of(jvp(cost, square, w, {.consider_constant = {square}})), "6.5");
  EXPECT_EQ(text_of(jvp(Values{cost}, Values{square, x}, Values{w, w}, {.consider_constant = {square}})[0]), "19");
}

}  // namespace
}  // namespace thtrain::constants_test
