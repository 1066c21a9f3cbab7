// Means and standard deviations over the seeds of a sweep.
#include "cli/sweep/seeds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

using State = SweepRun::State;

// A run of this point that is over, or failed.
SweepRun run_of(const SweepPoints& points, int64_t point, std::optional<double> best, std::optional<double> test = {},
                RunEnd end = RunEnd::kFinished) {
  SweepRun out{.point = point, .name = points.name(point), .folder = "s/" + points.name(point)};
  out.state = is_over(end) ? State::kDone : State::kFailed;
  out.record = RunRecord{};
  out.record->best = best;
  out.record->test = test;
  out.record->end = end;
  return out;
}

// Three learning rates, three seeds each. Means and deviations are numpy.mean and numpy.std(ddof=1).
class SweepSeeds : public testing::Test {
 protected:
  SweepSeeds() {
    for (int64_t i = 0; i < 3; ++i) runs.push_back(run_of(points, i, rows[0][i], rows[1][i]));
    runs.push_back(run_of(points, 3, 90.0, {}, RunEnd::kNonFinite));
    runs.push_back({.point = 4, .name = points.name(4), .folder = "s/x", .state = State::kFailed, .code = 137});
    runs.push_back(run_of(points, 5, std::nan("")));
    runs.push_back(run_of(points, 6, 9.75, 10.0));
    runs.push_back(run_of(points, 7, 10.5));
    runs.push_back({.point = 8, .name = points.name(8), .folder = "s/y"});  // it waits
  }
  const double rows[2][3] = {{12.5, 13.25, 11.0}, {14.0, 15.5, 13.0}};
  const SweepPoints points{{"trainer.learning_rate=0.1,1e30,0.01", "seed=1..3"}};
  std::vector<SweepRun> runs;
};

TEST_F(SweepSeeds, TheTableHasALineForEachPointOfTheOtherLists) {
  EXPECT_EQ(seeds_table(points, runs),
            "over the seeds, mean and standard deviation (n - 1)\n"
            "  learning_rate  runs  validation error  deviation   test error          deviation   left out\n"
            "           0.01     2       10.125000 %  0.530330 %  10.000000 % (of 1)  -\n"
            "            0.1     3       12.250000 %  1.145644 %         14.166667 %  1.258306 %\n"
            "           1e30     0                                                                "
            "3: seed=1 not finite, seed=2 ended by signal 9, seed=3 no value\n");
}

TEST_F(SweepSeeds, TheFileHasThemAll) {
  const std::string titles =
      "trainer.learning_rate,metric,runs,mean,deviation,test_runs,test_mean,test_deviation,left_out,left_out_runs\n";
  EXPECT_EQ(seeds_csv(points, runs),
            titles +
                "0.01,error,2,10.125,0.5303300858899106,1,10,,0,\n"
                "0.1,error,3,12.25,1.14564392373896,3,14.166666666666666,1.2583057392117918,0,\n"
                "1e30,,0,,,0,,,3,\"learning_rate=1e30,seed=1 not finite; learning_rate=1e30,seed=2 ended by signal 9; "
                "learning_rate=1e30,seed=3 no value\"\n");
  const auto json = read_json("{\"a\": " + seeds_json(points, runs) + "}", "seeds");
  EXPECT_EQ(json.at("a.1.values.trainer.learning_rate"), "0.1");
  EXPECT_EQ(json.at("a.1.runs"), "3");
  EXPECT_EQ(json.at("a.1.mean"), "12.25");
  EXPECT_EQ(json.at("a.1.test_deviation"), "1.2583057392117918");
  EXPECT_FALSE(json.contains("a.0.test_deviation"));
  EXPECT_FALSE(json.contains("a.2.mean"));
  EXPECT_EQ(json.at("a.2.left_out.1.run_dir"), "s/x");
  EXPECT_EQ(json.at("a.2.left_out.1.end"), "ended by signal 9");
}

TEST_F(SweepSeeds, TheBestMeanIsFirstAlsoWhereLargerIsBetter) {
  for (SweepRun& run : runs)
    if (run.record) run.record->metric = {"accuracy", "%", true};
  const std::vector<SeedGroup> groups = seed_groups(points, runs);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].values, std::vector<std::string>{"0.1"});
  EXPECT_EQ(groups[1].values, std::vector<std::string>{"0.01"});
  EXPECT_EQ(groups[2].metric, std::nullopt);
  // Two metrics: each has its name, and its unit.
  for (size_t i = 6; i < 8; ++i) runs[i].record->metric = {"loss", "", false};
  for (SweepRun& run : runs)
    if (run.record) run.record->test.reset();
  EXPECT_EQ(seeds_table(points, {runs.begin(), runs.begin() + 3}),
            "over the seeds, mean and standard deviation (n - 1)\n"
            "  learning_rate  runs  validation accuracy  deviation\n"
            "            0.1     3          12.250000 %  1.145644 %\n");
  EXPECT_EQ(seeds_table(points, {runs[0], runs[1], runs[2], runs[6], runs[7]}),
            "over the seeds, mean and standard deviation (n - 1)\n"
            "  learning_rate  metric    runs  validation value  deviation\n"
            "            0.1  accuracy     3       12.250000 %  1.145644 %\n"
            "           0.01  loss         2            10.125     0.53033\n");
}

TEST(SweepSeedLists, MayBeTheOnlyOnesOrNone) {
  const SweepPoints alone({"seed=1..8"});
  std::vector<SweepRun> runs = {run_of(alone, 0, 2.0), run_of(alone, 1, 4.0)};
  EXPECT_EQ(seeds_table(alone, runs),
            "over the seeds, mean and standard deviation (n - 1)\n"
            "  runs  validation error  deviation\n"
            "     2        3.000000 %  1.414214 %\n");
  EXPECT_EQ(seeds_csv(alone, runs),
            "metric,runs,mean,deviation,test_runs,test_mean,test_deviation,left_out,left_out_runs\n"
            "error,2,3,1.4142135623730951,0,,,0,\n");
  // Of many that are left out, the first ones are named.
  for (int64_t i = 2; i < 8; ++i) runs.push_back(run_of(alone, i, {}, {}, RunEnd::kNonFinite));
  EXPECT_TRUE(seeds_table(alone, runs)
                  .ends_with("  6: seed=3 not finite, seed=4 not finite, seed=5 not finite, seed=6 not finite, seed=7 "
                             "not finite, and 1 more\n"))
      << seeds_table(alone, runs);
  // Nothing was measured, and nothing failed.
  EXPECT_EQ(seeds_table(alone, {{.point = 0}, {.point = 1}}), "");
  for (const char* word : {"trainer.epochs=1,2", "seed=5..5"}) {
    const SweepPoints other({word});
    EXPECT_FALSE(has_seeds(other)) << word;
    EXPECT_EQ(seeds_table(other, {run_of(other, 0, 2.0)}), "");
  }
}

TEST(Spread, OfFewValues) {
  EXPECT_EQ(spread_of({}).count, 0);
  EXPECT_EQ(spread_of({3}).mean, 3);
  EXPECT_FALSE(spread_of({3}).deviation.has_value());
  EXPECT_EQ(spread_of({3, 3, 3}).deviation, 0.0);
}

}  // namespace
}  // namespace thtrain
