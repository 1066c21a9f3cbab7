// The tuner: its file, its policies, and what becomes of finished programs when an answer changes.
#include "compiler/runtime/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/linalg/gemm_kernel.h"
#include "compiler/runtime/cpu.h"
#include "compiler/runtime/gemm_trials.h"

namespace thtrain {
namespace {

using kernel::MatrixProduct;

// Numbers of threads that nothing else uses: what is remembered for them disturbs nobody.
constexpr int kThreads = 201, kOtherThreads = 202;

MatrixProduct product_of(int64_t n) {
  return {DType::kFloat32, 3, n, 5, false, false, false};
}

TEST(Tuner, NamesProducts) {
  EXPECT_EQ(text_of({DType::kFloat32, 60, 500, 784, false, false, false}), "float32 60x784x500 NN");
  EXPECT_EQ(text_of({DType::kFloat64, 784, 500, 60, true, false, true}), "float64 784x60x500 TN added");
  EXPECT_EQ(text_of({DType::kFloat32, 60, 500, 10, false, true, false}), "float32 60x10x500 NT");
}

TEST(Tuner, TableIsReadAsItWasWritten) {
  TuningTable table{{"float32 60x784x500 NN", "tile 6x4x392"}, {"float64 2x2x2 NT added", "library"}};
  std::string text = detail::tuning_text(table, "a machine");
  EXPECT_EQ(text, "# a machine\nfloat32 60x784x500 NN = tile 6x4x392\nfloat64 2x2x2 NT added = library\n");
  auto no_complaint = [](const std::string& line) { ADD_FAILURE() << line; };
  EXPECT_EQ(detail::read_tuning(text, no_complaint), table);
}

TEST(Tuner, BrokenLinesAreLeftOutAndTold) {
  std::vector<std::string> told;
  TuningTable table = detail::read_tuning(
      "float32 2x2x2 NN = tile 6x4\n"      // half a name
      "float32 3x3x3 NN = magic\n"         // an unknown candidate
      "float32 4x4x4 NN library\n"         // no entry
      "float32 5x5x5 NN = oneDNN 9.9.9\n"  // kept: whether it is here is asked later
      "\n# a comment\nfloat32 6x6x6 NN = tile 1x1x6",
      [&](const std::string& line) { told.push_back(line); });
  EXPECT_EQ(told, (std::vector<std::string>{"float32 2x2x2 NN = tile 6x4", "float32 3x3x3 NN = magic",
                                            "float32 4x4x4 NN library"}));
  EXPECT_EQ(table, (TuningTable{{"float32 5x5x5 NN", "oneDNN 9.9.9"}, {"float32 6x6x6 NN", "tile 1x1x6"}}));
}

TEST(Tuner, AnswersFromWhatIsRememberedForThatManyThreads) {
  MatrixProduct product = product_of(77);
  remember({{text_of(product), "tile 1x1x5"}}, kThreads);
  EXPECT_EQ(remembered(kThreads).at(text_of(product)), "tile 1x1x5");
  EXPECT_FALSE(remembered(kOtherThreads).contains(text_of(product)));

  Tuner cached(Tune::kCached, kThreads), never(Tune::kNever, kThreads), other(Tune::kCached, kOtherThreads);
  EXPECT_EQ(cached.choose(product), "tile 1x1x5");
  EXPECT_EQ(never.choose(product), rule_choice(product, kThreads));
  EXPECT_EQ(other.choose(product), rule_choice(product, kOtherThreads));
  EXPECT_EQ(cached.choose(product), "tile 1x1x5");
  EXPECT_EQ(cached.answers(), (std::vector<kernel::ProductChoice>{{product, "tile 1x1x5"}}));
  EXPECT_TRUE(Tuner(Tune::kCached, kThreads).agrees(cached.answers()));
  EXPECT_FALSE(Tuner(Tune::kNever, kThreads).agrees(cached.answers()));
}

TEST(Tuner, ALibraryThatIsNotHereIsNotChosen) {
  MatrixProduct product = product_of(78);
  remember({{text_of(product), "oneDNN 0.0.1"}}, kThreads);
  EXPECT_EQ(Tuner(Tune::kCached, kThreads).choose(product), rule_choice(product, kThreads));
}

TEST(Tuner, AlwaysMeasuresOnceAndRemembers) {
  MatrixProduct product = product_of(79);
  remember({}, kOtherThreads);
  std::string choice = Tuner(Tune::kAlways, kOtherThreads).choose(product);
  std::vector<std::string> all = candidates_of(product);
  EXPECT_EQ(std::count(all.begin(), all.end(), choice), 1) << choice;
  EXPECT_EQ(remembered(kOtherThreads).at(text_of(product)), choice);
  EXPECT_EQ(Tuner(Tune::kCached, kOtherThreads).choose(product), choice);
}

TEST(Tuner, CandidatesFitTheProcessor) {
  for (int64_t n : {1, 10, 500})
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      MatrixProduct product{dtype, 60, n, 784, false, false, false};
      std::vector<std::string> names = candidates_of(product);
      EXPECT_EQ(names.front(), "library");
      for (const std::string& name : names) {
        auto tiling = gemm_tiling_named(name);
        EXPECT_TRUE(!tiling || is_possible(*tiling, product, cpu().vector_bytes)) << name;
      }
    }
}

// A weight's gradient: C is large, and both measuring and the rule know kernels that walk it row by row.
TEST(Tuner, LargeGradientsAreWalkedByRows) {
  if (!(cpu().fma || cpu().architecture == "arm64") || !cache().has_compiler()) GTEST_SKIP() << "no kernels of our own";
  const MatrixProduct gradient{DType::kFloat32, 1000, 1000, 60, true, false, true};
  const MatrixProduct forward{DType::kFloat32, 60, 1000, 1000, false, false, false};
  auto any_by_rows = [](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("rows "); });
  };
  EXPECT_TRUE(any_by_rows(candidates_of(gradient)));
  EXPECT_FALSE(any_by_rows(candidates_of(forward)));
  EXPECT_EQ(rule_choice(gradient, 1), cpu().vector_bytes == 64 ? "rows 4x6" : "rows 6x2");
  EXPECT_TRUE(rule_choice(forward, 1).starts_with("tile ")) << rule_choice(forward, 1);
}

// What a file remembers is used only where it can be.
TEST(Tuner, AnImpossibleTilingIsNotUsed) {
  const MatrixProduct product = product_of(83);
  remember({{text_of(product), "tile 99x9x83"}}, kOtherThreads);
  EXPECT_EQ(Tuner(Tune::kCached, kOtherThreads).choose(product), rule_choice(product, kOtherThreads));
}

TEST(Tuner, TimesEveryCandidate) {
  MatrixProduct product = product_of(10);
  std::vector<std::string> names = candidates_of(product);
  std::vector<GemmTrial> trials = time_candidates(product, names, 1);
  ASSERT_EQ(trials.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(trials[i].candidate, names[i]);
    EXPECT_GT(trials[i].seconds, 0);
  }
}

// A finished program is found again as long as the tuner gives the same answers.
TEST(Tuner, AProgramIsMadeAnewWhenAnAnswerChanged) {
  auto compile = [](Tune tune) {
    Expr x = tensor("x", {41, 43}, DType::kFloat32), y = tensor("y", {43, 47}, DType::kFloat32);
    return function({x, y}, {dot(x, y)}, {}, {.threads = 199, .tune = tune});
  };
  MatrixProduct product{DType::kFloat32, 41, 47, 43, false, false, false};
  remember({{text_of(product), "tile 2x1x43"}}, 199);
  Function first = compile(Tune::kCached), second = compile(Tune::kCached);
  ASSERT_EQ(first.info().choices.size(), 1u);
  EXPECT_EQ(first.info().choices[0].candidate, "tile 2x1x43");
  EXPECT_NE(first.explain().program.find("kernel gemm_2x1x43"), std::string::npos) << first.explain().program;
  EXPECT_TRUE(second.info().from_cache);
  EXPECT_EQ(second.info().choices, first.info().choices);

  remember({{text_of(product), "library"}}, 199);
  Function third = compile(Tune::kCached);
  EXPECT_FALSE(third.info().from_cache);
  EXPECT_EQ(third.info().choices[0].candidate, "library");
  EXPECT_NE(third.explain().program.find("-- gemm_f32"), std::string::npos) << third.explain().program;
}

}  // namespace
}  // namespace thtrain
