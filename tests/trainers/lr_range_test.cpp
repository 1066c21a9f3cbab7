// The learning-rate range test: its rates, where it stops, what it suggests.
#include "trainers/lr_range.h"

#include <cmath>

#include "tests/support/training_support.h"
#include "trainers/load_data.h"

namespace thtrain::lr_range_test {
namespace {

LrRange range_of(const Experiment& experiment, const LrRangeOptions& options) {
  return test_lr_range(experiment, load_data(experiment, ""), "", options);
}

TEST(LrRange, RatesAreGeometricOverSeveralEpochs) {
  const LrRange found =
      range_of(reference_experiment(), {.low = 1e-4, .high = 1e-2, .steps = 21});  // of 10 minibatches
  ASSERT_EQ(found.steps.size(), 21u);
  EXPECT_DOUBLE_EQ(found.steps.front().rate, 1e-4);
  EXPECT_NEAR(found.steps[10].rate, 1e-3, 1e-12);
  EXPECT_NEAR(found.steps.back().rate, 1e-2, 1e-12);
  EXPECT_FALSE(found.diverged_at.has_value());
}

TEST(LrRange, TheSameSeedGivesTheSameBits) {
  const Experiment experiment = reference_experiment();
  const LrRange a = range_of(experiment, {.low = 1e-4, .high = 1, .steps = 30}),
                b = range_of(experiment, {.low = 1e-4, .high = 1, .steps = 30});
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].loss, b.steps[i].loss);
  EXPECT_EQ(a.steepest, b.steepest);
}

TEST(LrRange, StopsWhereTheLossRunsAway) {
  const LrRange found = range_of(reference_experiment(), {.low = 1e-3, .high = 1e6, .steps = 60});
  ASSERT_TRUE(found.diverged_at.has_value());
  EXPECT_LT(found.steps.size(), 60u);
  ASSERT_TRUE(found.steepest.has_value());
  EXPECT_LT(*found.steepest, found.lowest);
  EXPECT_LT(found.steps[*found.steepest].rate, *found.diverged_at);
}

TEST(LrRange, TakesEveryOptimizerWithALearningRate) {
  for (const Kind<OptimizerOptions>& kind : OptimizerOptions::kinds()) {
    Experiment experiment = reference_experiment();
    experiment.trainer.optimizer = OneOf<OptimizerOptions>(kind);
    SCOPED_TRACE(experiment.trainer.optimizer.name());
    if (experiment.trainer.optimizer->batch_method()) {
      EXPECT_THROW(range_of(experiment, {.low = 1e-4, .high = 1e-3, .steps = 10}), UserError);
      continue;
    }
    const LrRange found = range_of(experiment, {.low = 1e-4, .high = 1e-3, .steps = 10});
    EXPECT_EQ(found.steps.size(), 10u);
  }
}

TEST(LrRange, TheFirstRateIsBelowTheLastOne) {
  EXPECT_EQ(error_text([] { range_of(reference_experiment(), {.low = 1, .high = 1}); }),
            "error: the first learning rate must be below the last one\n  got:      1 and 1");
}

// A fall by logistic steps at two places, the steeper one first, and a rise at the end.
TEST(LrRange, SuggestsTheSteepestDescentBeforeTheLowestLoss) {
  LrRange range;
  for (int i = 0; i < 100; ++i) {
    const double loss = 4 - 2 / (1 + std::exp(-(i - 30.0))) - 1 / (1 + std::exp(-(i - 60.0))) + (i > 80 ? i - 80 : 0);
    range.steps.push_back({.rate = std::pow(10, i / 20.0 - 5), .loss = loss, .smoothed = loss});
  }
  find_steepest(range);
  EXPECT_EQ(range.steepest, 30u);
  EXPECT_NEAR(static_cast<double>(range.lowest), 80, 1);
  LrRange rising;
  for (int i = 0; i < 10; ++i) rising.steps.push_back({.rate = 1.0 + i, .smoothed = 1.0 * i});
  find_steepest(rising);
  EXPECT_FALSE(rising.steepest.has_value());
  EXPECT_EQ(rising.lowest, 0u);
}

TEST(LrRange, SmoothingKeepsConstantsAndLines) {
  EXPECT_EQ(smoothed_losses({}, 100), std::vector<double>());
  const std::vector<double> constant = smoothed_losses(std::vector<double>(9, 2.5), 100);
  for (double value : constant) EXPECT_NEAR(value, 2.5, 1e-15);
  std::vector<double> line(101);
  for (size_t i = 0; i < line.size(); ++i) line[i] = 3.0 * static_cast<double>(i);
  EXPECT_NEAR(smoothed_losses(line, 100)[50], 150, 1e-12);  // without delay
}

}  // namespace
}  // namespace thtrain::lr_range_test
