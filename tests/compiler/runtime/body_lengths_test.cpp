// Lengths that the bodies of loops and branches define, another one in each iteration: values, gradients, checks and
// buffers, in native, reference and debug mode.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::body_lengths_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug};

const Expr rows = matrix("rows"), x = vector("x"), y = vector("y");
const Expr counts = tensor_of_rank("counts", 1, DType::kInt64);

Tensor numbers(const std::vector<double>& values) {
  return Tensor::of(values, {static_cast<int64_t>(values.size())});
}
Tensor table(const std::vector<double>& values, int64_t columns) {
  return Tensor::of(values, {static_cast<int64_t>(values.size()) / columns, columns});
}
Tensor ints(const std::vector<int64_t>& values) {
  return Tensor::of(values, {static_cast<int64_t>(values.size())});
}

// One output, in every mode.
void expect_value(const std::vector<Expr>& inputs, const Expr& output, const std::vector<Tensor>& values,
                  const Tensor& expected) {
  for (Mode mode : kModes) {
    Function f = function({inputs.begin(), inputs.end()}, {output}, {}, {.mode = mode});
    EXPECT_EQ(f.is_native(), mode != Mode::kReference);
    for (int call = 0; call < 2; ++call) {
      const Tensor got = f(values)[0].contiguous();
      EXPECT_TRUE(same_bits(got, expected))
          << got.type_text() << " " << got.text() << ", expected " << expected.type_text() << " " << expected.text();
    }
  }
}

const Tensor kRows = table({1, -2, 3, 4, -1, -5, -6, -7, 2, 8, 0, -3}, 4);

Expr of_positive(const std::function<Expr(const Expr& kept)>& body) {
  return map([&](const Expr& row) { return body(row[row > 0]); }, {.sequences = {rows}}).outputs;
}

TEST(BodyLengths, AMaskIsAnotherOneInEachIteration) {
  expect_value({rows}, of_positive([](const Expr& kept) { return sum(kept * kept); }), {kRows}, numbers({26, 0, 68}));
  expect_value({rows}, of_positive([](const Expr& kept) { return prod(kept); }), {kRows}, numbers({12, 1, 16}));
}

TEST(BodyLengths, ALengthThatNothingElseNeedsIsComputed) {
  expect_value({rows}, of_positive([](const Expr& kept) { return length(kept, 0); }), {kRows}, ints({3, 0, 2}));
  expect_value({rows}, of_positive([](const Expr& kept) { return sum(ones_like(kept)); }), {kRows}, numbers({3, 0, 2}));
}

TEST(BodyLengths, GradientsGoThroughMasks) {
  const Expr sums = of_positive([](const Expr& kept) { return sum(kept * kept); });
  expect_value({rows}, grad(sum(sums * sums), rows), {kRows},
               table({104, 0, 312, 416, 0, 0, 0, 0, 544, 2176, 0, 0}, 4));
}

TEST(BodyLengths, StatesReadWhatMasksChoose) {
  const auto iterations = [](const std::function<Expr(const Expr&)>& positive_sum) {
    return repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector{s[0] * 2 - positive_sum(s[0])}; })[0];
  };
  const Expr masked = iterations([](const Expr& s) { return sum(s[s > 0]); });
  const Expr plain = iterations([](const Expr& s) { return sum(switch_(s > 0, s, 0)); });
  const std::vector<Tensor> values{numbers({1, -2, 3, 0.5})};
  const std::vector<Tensor> expected =
      function({x}, {plain, grad(sum(plain * plain), x)}, {}, {.mode = Mode::kReference})(values);
  expect_value({x}, masked, values, expected[0]);
  expect_value({x}, grad(sum(masked * masked), x), values, expected[1]);
}

TEST(BodyLengths, ForwardDerivativesGoThroughMasks) {
  const Expr sums = of_positive([](const Expr& kept) { return sum(kept * kept); });
  const Expr tangent = jvp(sums, rows, ones_like(rows));
  expect_value({rows}, tangent, {kRows}, numbers({16, 0, 20}));
}

TEST(BodyLengths, ArangeOfAnElement) {
  const Expr sums = map([](const Expr& n) { return sum(sqr(arange(n))); }, {.sequences = {counts}}).outputs;
  expect_value({counts}, sums, {ints({4, 0, 1, 10, 3})}, ints({14, 0, 0, 285, 5}));
  expect_value({counts}, sums, {ints({})}, ints({}));
}

TEST(BodyLengths, AnInnerLoopHasAsManyStepsAsTheOuterElementSays) {
  const auto powers = [](const Expr& base) {
    return map(
               [&](const Expr& n) {
                 return reduce([&](const Expr& product) { return product * base; },
                               {.outputs_info = {make_constant(Tensor(1.0))}, .n_steps = n})
                     .outputs;
               },
               {.sequences = {counts}})
        .outputs;
  };
  const Expr base = scalar("base");
  expect_value({base, counts}, powers(base), {Tensor(2.0), ints({3, 0, 5, 1})}, numbers({8, 1, 32, 2}));
  expect_value({base, counts}, grad(sum(powers(base)), base), {Tensor(2.0), ints({3, 0, 5, 1})}, Tensor(93.0));
}

TEST(BodyLengths, AllStepsOfAnInnerLoopAreAValueOfTheIteration) {
  const Expr sums = map(
                        [&](const Expr& n) {
                          const Expr steps = scan([](const Expr& s) { return s * 2; },
                                                  {.outputs_info = {make_constant(Tensor(1.0))}, .n_steps = n})
                                                 .outputs;
                          return sum(steps);
                        },
                        {.sequences = {counts}})
                        .outputs;
  expect_value({counts}, sums, {ints({3, 0, 5, 1})}, numbers({14, 0, 62, 2}));
}

TEST(BodyLengths, AnInnerLoopThatAConditionEndsGivesAllItsSteps) {
  const auto doubled = [](const Expr& s) { return std::pair(s * 2, until(s * 2 > 50)); };
  const Expr sums =
      map([&](const Expr& first) { return sum(scan(doubled, {.outputs_info = {first}, .n_steps = 20}).outputs); },
          {.sequences = {x}})
          .outputs;
  expect_value({x}, sums, {numbers({30, 10, 1})}, numbers({60, 140, 126}));
}

TEST(BodyLengths, SidesOfABranchDefineTheirOwn) {
  const Expr value = if_else(
      sum(x) > 0, [&] { return sum(sqr(x[x > 0])); },
      [&] { return sum(exp(x[x < -1])) + cast(length(x[x < 0], 0), x.dtype()); });
  expect_value({x}, value, {numbers({1, -2, 3})}, Tensor(10.0));
  expect_value({x}, grad(value, x), {numbers({1, -2, 3})}, numbers({2, 0, 6}));
  expect_value({x}, grad(value, x), {numbers({1, -0.5, -3})}, numbers({0, 0, std::exp(-3.0)}));
}

TEST(BodyLengths, ABodyInABodyHasLengthsOfItsOwnAndThoseAroundIt) {
  const Expr sums =
      map(
          [&](const Expr& row) {
            const Expr kept = row[row > 0];
            return sum(
                map([&](const Expr& limit) { return sum(kept[kept < limit]) + cast(length(kept, 0), kept.dtype()); },
                    {.sequences = {kept}})
                    .outputs);
          },
          {.sequences = {rows}})
          .outputs;
  // Of 1, 3, 4: 0, 1, 4 and three times 3. Of 2, 8: 0, 2 and two times 2.
  expect_value({rows}, sums, {kRows}, numbers({14, 0, 6}));
  const Expr plain = map(
                         [&](const Expr& row) {
                           const Expr on = cast(row > 0, row.dtype()), count = sum(on);
                           const Expr less = cast(lt(dimshuffle(row, {-1, 0}), dimshuffle(row, {0, -1})), row.dtype());
                           return sum(dimshuffle(on, {0, -1}) * less * dimshuffle(on * row, {-1, 0})) + count * count;
                         },
                         {.sequences = {rows}})
                         .outputs;
  const Tensor expected = function({rows}, {grad(sum(sums * sums), rows)}, {}, {.mode = Mode::kReference})({kRows})[0];
  const Tensor wanted = function({rows}, {grad(sum(plain * plain), rows)}, {}, {.mode = Mode::kReference})({kRows})[0];
  EXPECT_TRUE(same_bits(expected.contiguous(), wanted.contiguous())) << expected.text() << " " << wanted.text();
  expect_value({rows}, grad(sum(sums * sums), rows), {kRows}, wanted);
}

TEST(BodyLengths, AMaskOfTheOutsideDefinesItsLengthWhereItIsUsed) {
  const Expr mask = tensor_of_rank("mask", 1, DType::kBool);
  const Expr sums = map([&](const Expr& row) { return sum(row[mask]); }, {.sequences = {rows}}).outputs;
  Tensor chosen = Tensor::empty(DType::kBool, {4});
  for (int i = 0; i < 4; ++i) chosen.data<bool>()[i] = i != 1;
  expect_value({rows, mask}, sums, {kRows, chosen}, numbers({8, -14, -1}));
  expect_value({rows, mask}, grad(sum(sums), rows), {kRows, chosen}, table({1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1}, 4));
}

TEST(BodyLengths, StepsWithoutNativeCodeTellThem) {
  const Expr table_of_ints = tensor_of_rank("ints", 2, DType::kInt64);
  const Expr sums =
      map([](const Expr& row) { return sum(pow(row[row > 0], 3)); }, {.sequences = {table_of_ints}}).outputs;
  expect_value({table_of_ints}, sums, {Tensor::of(std::vector<int64_t>{1, -2, 3, 4, -1, -5, 2, 0, 0}, {3, 3})},
               ints({28, 64, 8}));
}

TEST(BodyLengths, CheckpointedLoopsDefineThem) {
  const auto step = [](const Expr& row, const Expr& total) { return total * 0.5 + sum(row[row > total]); };
  const Expr total =
      checkpointed_scan(step, {.sequences = {rows}, .outputs_info = {make_constant(Tensor(0.0))}}, 2).outputs;
  const Expr plain = reduce(step, {.sequences = {rows}, .outputs_info = {make_constant(Tensor(0.0))}}).outputs;
  const std::vector<Tensor> expected =
      function({rows}, {plain, grad(plain, rows)}, {}, {.mode = Mode::kReference})({kRows});
  expect_value({rows}, total, {kRows}, expected[0]);
  expect_value({rows}, grad(total, rows), {kRows}, expected[1].contiguous());
}

TEST(BodyLengths, WhatAnIterationNeedsIsReusedByTheNext) {
  const Expr sums = map(
                        [](const Expr& n) {
                          return sum(exp(cast(arange(n), DType::kFloat64) * 0.0) * cast(arange(n), DType::kFloat64));
                        },
                        {.sequences = {counts}})
                        .outputs;
  Function f = function({counts}, {sums});
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 3000; ++i) many.push_back(i % 7 * 10000);
  const Tensor got = f({ints(many)})[0];
  for (int64_t i = 0; i < 3000; ++i) {
    const double n = static_cast<double>(many[static_cast<size_t>(i)]);
    ASSERT_EQ(got.as_double(i), n * (n - 1) / 2) << i;
  }
}

TEST(BodyLengths, OpsFromGraphsDefineThem) {
  const OpFromGraph positive([](const std::vector<Expr>& in) { return std::vector{sum(sqr(in[0][in[0] > 0]))}; });
  const Expr value = positive({x})[0] + 2 * positive({y})[0];
  const std::vector<Tensor> values{numbers({1, -2, 3}), numbers({-1, 4})};
  expect_value({x, y}, value, values, Tensor(42.0));
  expect_value({x, y}, join(0, {grad(value, x), grad(value, y)}), values, numbers({2, 0, 6, 0, 16}));
}

TEST(BodyLengths, CopiesOfABodyOnOtherValuesHaveOthers) {
  const auto both = [](const Expr& value, const Expr& of) {
    return join(0, {dimshuffle(value, {-1}),
                    dimshuffle(substitute(std::vector{value}, std::vector{std::pair{of, neg(of)}})[0], {-1})});
  };
  const OpFromGraph positive([](const std::vector<Expr>& in) { return std::vector{sum(sqr(in[0][in[0] > 0]))}; });
  expect_value({x}, both(positive({x})[0], x), {numbers({1, -2, 3})}, numbers({10, 4}));
  const Expr sums = sum(of_positive([](const Expr& kept) { return sum(kept * kept); }));
  expect_value({rows}, both(sums, rows), {kRows}, numbers({94, 124}));
}

TEST(BodyLengths, TheMemoryOfAnIterationIsThatOfTheNext) {
  const Expr sums = map([](const Expr& n) { return sum(exp(cumsum(arange(n)) % 3)); }, {.sequences = {counts}}).outputs;
  Function f = function({counts}, {sums});
  std::map<size_t, std::set<const void*>> locations;  // of each step's results
  std::map<size_t, std::set<int64_t>> lengths;
  f.watch(std::vector{ints({1000, 5, 700, 0, 1000, 3})}, [&](const StepEvent& event) {
    for (size_t o = event.inputs; event.after && o < event.operands.size(); ++o)
      if (event.operands[o].rank() == 1) {
        locations[event.step].insert(event.operands[o].raw());
        lengths[event.step].insert(event.operands[o].dim(0));
      }
  });
  EXPECT_FALSE(locations.empty());
  for (const auto& [step, all] : locations) {
    EXPECT_EQ(all.size(), 1u) << step;
    EXPECT_EQ(lengths[step], (std::set<int64_t>{0, 3, 5, 700, 1000})) << step;
  }
}

TEST(BodyLengths, CopiesOtherTargetsAndTheGuardOfNaNsComputeTheSame) {
  const Expr sums = of_positive([](const Expr& kept) { return sum(kept * kept); });
  Function f = function({rows}, {sums});
  f({kRows});
  Function copy = f.copy({});
  f({table({1, 1, 1, 1, 1, 1}, 2)});
  EXPECT_TRUE(same_bits(copy({kRows})[0], numbers({26, 0, 68})));
  Function c99 = function({rows}, {sums}, {}, {.target = kernel::c99_target()});
  EXPECT_TRUE(same_bits(c99({kRows})[0], numbers({26, 0, 68})));
  Function guarded = function({rows}, {sums}, {}, {.mode = Mode::kNanGuard});
  EXPECT_TRUE(same_bits(guarded({kRows})[0], numbers({26, 0, 68})));
}

TEST(BodyLengths, ProgramsAndProfilesShowThem) {
  Function f = function({rows}, {of_positive([](const Expr& kept) { return sum(exp(kept)); })});
  EXPECT_NE(f.explain().program.find("defines #gt from "), std::string::npos) << f.explain().program;
  f.start_profile();
  f({kRows});
  EXPECT_FALSE(f.profile().steps.empty());
}

// ---- what is wrong -------------------------------------------------------------------------------------------------

TEST(BodyLengthMistakes, AResultWithALengthOfTheBody) {
  const int line = __LINE__ + 1;
  EXPECT_EQ(text_without_node([&] { map([](const Expr& row) { return row[row > 0]; }, {.sequences = {rows}}); }),
            str("error: a result of the body of a loop or a branch has a length that the body defines\n"
                "  expected: results whose lengths are known outside the body\n"
                "  got:      float64[#gt]; the length #gt is built at tests/compiler/runtime/body_lengths_test.cpp:",
                line,
                "\n  hint:     reduce it inside the body, as sum(x[mask]) does, or keep the length of x: "
                "switch_(mask, x, 0)"));
}

TEST(BodyLengthMistakes, AStateThatGetsAnotherLength) {
  const Expr kept = repeat(2, {x}, [](const std::vector<Expr>& s) { return std::vector{s[0][s[0] > 0] * 2}; })[0];
  for (Mode mode : kModes) {
    Function f = function({x}, {kept}, {}, {.mode = mode});
    const std::vector<Tensor> fits = f({numbers({1, 2})});
    EXPECT_TRUE(same_bits(fits[0], numbers({4, 8})));
    EXPECT_EQ(text_without_node([&] {
                f({numbers({1, -2})});
              }),
              "error: repeat: state 0: axis 0 has another length\n"
              "  expected: #gt == x.0\n"
              "  got:      1 and 2");
  }
}

TEST(BodyLengthMistakes, TwoMasksOfDifferentCounts) {
  const Expr sums = map([](const Expr& row, const Expr& other) { return sum(row[row > 0] + other[other < 0]); },
                        {.sequences = {rows, rows}})
                        .outputs;
  for (Mode mode : kModes)
    EXPECT_EQ(text_without_node([&] { function({rows}, {sums}, {}, {.mode = mode})({kRows}); }),
              "error: add: lengths of axis 0 differ; only a length known to be 1 is broadcast\n"
              "  expected: #gt == #lt\n"
              "  got:      3 and 1");
}

TEST(BodyLengthMistakes, ANegativeLength) {
  const Expr sums =
      map([](const Expr& n) { return sum(zeros({computed_length(n)}) + 1.0); }, {.sequences = {counts}}).outputs;
  for (Mode mode : kModes)
    EXPECT_EQ(text_without_node([&] {
                function({counts}, {sums}, {}, {.mode = mode})({ints({2, -3})});
              }),
              "error: the length #counts is -3\n"
              "  expected: at least 0");
}

}  // namespace
}  // namespace thtrain::body_lengths_test
