// Which results of loops, branches and calls depend on which of their inputs: through their bodies, one by one.
#include "compiler/ops/control/connections.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::connections_test {
namespace {

using Values = std::vector<Expr>;

// "x y; x", the names of the inputs that each output depends on.
std::string connections_text(const Values& outputs, const Values& inputs) {
  std::string out;
  for (const Expr& output : outputs) {
    const Connections connected(output.node());
    std::string names;
    for (const Expr& input : inputs)
      for (size_t i = 0; i < output.node().inputs.size(); ++i)
        if (output.node().inputs[i].same(input) && connected(i, output.output())) names += " " + input.name();
    out += (out.empty() ? "" : ";") + names;
  }
  return out;
}

const Expr x = vector("x", {3}), y = vector("y", {3}), z = vector("z", {3}), m = matrix("m", {4, 3});

bool is_disconnected(const Expr& cost, const Expr& wrt) {
  const std::string text = text_without_node([&] { grad(cost, wrt); });
  return text.starts_with("error: grad: the cost does not depend on " + wrt.name());
}

TEST(Connections, OfALoopAreThoseOfItsStates) {
  // x follows z, y follows x and itself.
  const Values last = repeat(2, {x, y}, [](const Values& s) { return Values{s[0] * z, s[1] + s[0]}; });
  EXPECT_EQ(connections_text(last, {x, y, z}), " x z; x y z");
  EXPECT_TRUE(is_disconnected(sum(last[0]), y));
  EXPECT_FALSE(is_disconnected(sum(last[1]), x));
  // A chain of states: each follows the one before it.
  const Values chain = repeat(5, {x, y, z}, [](const Values& s) { return Values{s[0], s[0] + s[1], s[1] + s[2]}; });
  EXPECT_EQ(connections_text(chain, {x, y, z}), " x; x y; x y z");
  // The first value of a state that no iteration reads is lost, unless there is none.
  auto forgets = [](const Values& s) { return Values{s[1], s[1]}; };
  EXPECT_EQ(connections_text(repeat(1, {x, y}, forgets), {x, y}), " y; y");
  EXPECT_EQ(connections_text(repeat(0, {x, y}, forgets), {x, y}), " x y; y");
  const Values until = repeat_until(4, {x, y}, [](const Values& s) {
                         return Iteration{{s[0] * 2, s[1] * z}, gt(sum(s[0]), 3)};
                       }).state;
  EXPECT_EQ(connections_text(until, {x, y, z}), " x; y z");
}

TEST(Connections, OfAScanGoThroughTapsSequencesAndElements) {
  const Values o = scan(
                       [](const Expr& u, const Expr& a, const Expr& b) {
                         return Values{a * u, b * 2, a + z};
                       },
                       {.sequences = {m}, .outputs_info = {x, y, std::nullopt}})
                       .outputs;
  EXPECT_TRUE(is_disconnected(sum(o[0]), y)) << "the first output never reads the second one's state";
  EXPECT_TRUE(is_disconnected(sum(o[1]), x));
  EXPECT_TRUE(is_disconnected(sum(o[1]), m));
  EXPECT_TRUE(is_disconnected(sum(o[2]), y));
  EXPECT_FALSE(is_disconnected(sum(o[2]), x));
  EXPECT_FALSE(is_disconnected(sum(o[2]), m)) << "by the state, one iteration later";
  EXPECT_FALSE(is_disconnected(sum(o[2]), z));
  const Expr first = matrix("first", {2, 3});
  const Values deep = scan(
                          [](const Expr& a2, const Expr& b) {
                            return Values{a2 * 2, b + a2};
                          },
                          {.outputs_info = {{first, {-2}}, y}, .n_steps = 4})
                          .outputs;
  EXPECT_TRUE(is_disconnected(sum(deep[0]), y));
  EXPECT_FALSE(is_disconnected(sum(deep[1]), first));
  const Values blocks = checkpointed_scan(
                            [](const Expr& a, const Expr& b) {
                              return Values{a * z, sin(b)};
                            },
                            {.outputs_info = {x, y}, .n_steps = 7}, 3)
                            .outputs;
  EXPECT_TRUE(is_disconnected(sum(blocks[1]), x));
  EXPECT_TRUE(is_disconnected(sum(blocks[1]), z));
  EXPECT_FALSE(is_disconnected(sum(blocks[0]), z));
}

TEST(Connections, OfABranchAreThoseOfEitherSide) {
  const Values v = if_else(
      gt(sum(z), 0),
      [] {
        return Values{x * 2, y};
      },
      [] {
        return Values{y, sqr(y)};
      });
  EXPECT_EQ(connections_text(v, {x, y, z}), " x y; y");
  EXPECT_TRUE(is_disconnected(sum(v[1]), x));
  EXPECT_TRUE(is_disconnected(sum(v[0]), z)) << "a condition has no derivative";
}

TEST(Connections, OfACallAreThoseOfItsGraphOrOfItsGivenGradient) {
  auto formula = [](const Values& in) { return Values{sin(in[0]) * z, in[1] + stop_gradient(in[0])}; };
  const Values plain = OpFromGraph(formula)({x, y});
  EXPECT_EQ(connections_text(plain, {x, y, z}), " x z; y");
  EXPECT_TRUE(is_disconnected(sum(plain[1]), x));
  const Values given = OpFromGraph(formula, [](const Values& in, const Values&, const Values& d) {
    return Values{d[0] * cos(in[0]), d[1] + d[0]};
  })({x, y});
  EXPECT_EQ(connections_text(given, {x, y, z}), " x y z; y");
  // What reads no cotangent is there for every result.
  const Values zeros = OpFromGraph(formula, [](const Values& in, const Values&, const Values& d) {
    return Values{zeros_like(in[0]), d[1]};
  })({x, y});
  EXPECT_EQ(connections_text(zeros, {x, y, z}), " x z; x y");
}

TEST(Connections, GoThroughBodiesInBodies) {
  const OpFromGraph swap([](const Values& in) { return Values{in[1], in[0]}; });
  const Values last = repeat(3, {x, y}, [&](const Values& s) {
    return if_else(
        gt(sum(z), 0),
        [&] {
          return Values{s[0], swap({s[0], s[1]})[0] * 2};
        },
        [&] {
          return Values{sin(s[0]), swap({s[1], z})[1]};
        });
  });
  EXPECT_EQ(connections_text(last, {x, y, z}), " x; y");
  EXPECT_TRUE(is_disconnected(sum(last[0]), y));
  // Numbers of an integer in between have no derivative.
  const Values counted = repeat(3, {x, y}, [&](const Values& s) {
    return Values{s[0] * cast(cast(s[1], DType::kInt32), DType::kFloat64), s[1] * 2};
  });
  EXPECT_EQ(connections_text(counted, {x, y}), " x; y");
}

TEST(Connections, DecideWhatForwardModeCallsDisconnected) {
  const Values last = repeat(2, {x, y}, [](const Values& s) { return Values{s[0] * z, s[1] + s[0]}; });
  const std::string output = text_without_node([&] { jvp(last[0], y, y); });
  EXPECT_TRUE(output.starts_with("error: jvp: no output depends on y float64[3]")) << output;
  const std::string wrt = text_without_node([&] { jvp(Values{last[0]}, Values{x, y}, Values{x, y}); });
  EXPECT_TRUE(wrt.starts_with("error: jvp: no output depends on y float64[3]")) << wrt;
}

}  // namespace
}  // namespace thtrain::connections_test
