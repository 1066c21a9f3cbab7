// What a step of many ranks is predicted to take.
#include "bench/scale.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace thtrain::scale_test {

const ShardedStepTimes kStep{.shards = 4,
                             .examples = 100,
                             .computing = 0.008,
                             .optimizer = 0.001,
                             .adding = 1e-10,
                             .buckets = {{1'000'000, 0.008}}};
const ScaleNetwork kNetwork{.latency = 1e-5, .bandwidth = 1e9};

TEST(BenchScale, ExchangeIsThatOfHalvingAndDoubling) {
  EXPECT_EQ(predicted_exchange(1e6, kStep.adding, kNetwork, 1), 0);
  // Half of the bytes there and back, and half of them added.
  EXPECT_DOUBLE_EQ(predicted_exchange(1e6, kStep.adding, kNetwork, 2), 2 * (1e-5 + 5e-4) + 5e-5);
  EXPECT_DOUBLE_EQ(predicted_exchange(1e6, kStep.adding, kNetwork, 4), 2 * (2e-5 + 7.5e-4) + 7.5e-5);
}

TEST(BenchScale, RanksShareTheShardsAsFarAsTheyGo) {
  const std::vector<PredictedStep> steps = predicted_steps(kStep, kNetwork);
  ASSERT_EQ(steps.size(), 11);
  EXPECT_DOUBLE_EQ(steps[0].shared, 0.009);
  EXPECT_DOUBLE_EQ(steps[2].shared, 0.002 + steps[2].exchange + 0.001);
  EXPECT_EQ(steps[3].shared, 0);
  EXPECT_EQ(steps.back().ranks, 1024);
  EXPECT_DOUBLE_EQ(steps.back().each, 0.008 + steps.back().exchange + 0.001);
}

TEST(BenchScale, BucketsAreExchangedAsSoonAsTheyAreReady) {
  ShardedStepTimes step = kStep;
  // The last shard of four takes 2 ms: the first bucket is there at its middle, the second one at its end.
  step.buckets = {{500'000, 0.007}, {500'000, 0.008}};
  const double half = predicted_exchange(5e5, step.adding, kNetwork, 2);
  ASSERT_LT(half, 0.001);
  const std::vector<PredictedStep> steps = predicted_steps(step, kNetwork);
  EXPECT_DOUBLE_EQ(steps[1].exchange, 2 * half);
  EXPECT_DOUBLE_EQ(steps[1].shared, 0.004 + half + 0.001);
  // Where the first one is not over by then, the second one waits.
  const ScaleNetwork slow{.latency = 1e-5, .bandwidth = 1e8};
  const double slow_half = predicted_exchange(5e5, step.adding, slow, 2);
  EXPECT_DOUBLE_EQ(predicted_steps(step, slow)[1].each, 0.007 + 2 * slow_half + 0.001);
}

TEST(BenchScale, WhatSeveralProcessesTookIsCompared) {
  ShardedStepTimes measured = kStep;
  measured.computing = 0.0045;
  measured.hidden = 0.0003;
  measured.waited = 0.0006;
  EXPECT_EQ(
      compared_step({.alone = kStep, .together = measured, .network = kNetwork}, 2),
      "\nmeasured with 2 processes: 6.100 ms, predicted 6.070 ms (-0.5 %); the shards of a process took 4.500 ms, "
      "the exchange 0.900 ms, of which 0.300 ms beside them\n");
}

TEST(BenchScale, TheTableHasARowForEachNumberOfRanks) {
  const std::string table = scale_table(kStep, kNetwork);
  EXPECT_NE(table.find("a minibatch of 100 examples in 4 shards, 8.000 ms, optimizer 1.000 ms"), std::string::npos)
      << table;
  EXPECT_NE(table.find("| 2 | 1.070 | 6.070 | 1.48 | 10.070 | 19861 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 8 |"), std::string::npos);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 16);
}

}  // namespace thtrain::scale_test
