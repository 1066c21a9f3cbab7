#include "trainers/monitor.h"

#include <gtest/gtest.h>

#include <map>

namespace thtrain {
namespace {

TrainerConfig config(int64_t patience, double increase = 2, double threshold = 0.995) {
  TrainerConfig out;
  out.patience = patience;
  out.patience_increase = increase;
  out.improvement_threshold = threshold;
  return out;
}

// The tutorials' loop, as they write it, over errors that depend on the step alone.
struct Tutorial {
  int64_t frequency, stop_step = -1, best_epoch = 0;
  double best = std::numeric_limits<double>::infinity(), patience;

  Tutorial(int64_t batches, int64_t epochs, const TrainerConfig& c, double (*error)(int64_t)) {
    patience = static_cast<double>(c.patience);
    frequency = std::min(batches, c.patience / 2);
    bool done = false;
    for (int64_t epoch = 1; epoch <= epochs && !done; ++epoch)
      for (int64_t minibatch = 0; minibatch < batches; ++minibatch) {
        int64_t iter = (epoch - 1) * batches + minibatch;
        stop_step = iter;
        if ((iter + 1) % frequency == 0) {
          double now = error(iter);
          if (now < best) {
            if (now < best * c.improvement_threshold)
              patience = std::max(patience, static_cast<double>(iter) * c.patience_increase);
            best = now;
            best_epoch = epoch;
          }
        }
        if (patience <= static_cast<double>(iter)) {
          done = true;
          break;
        }
      }
  }
};

double falling(int64_t step) {
  return 100.0 / static_cast<double>(step + 1);
}
double falling_then_flat(int64_t step) {
  return step < 40 ? 100.0 - static_cast<double>(step) : 60.5;
}
double slow(int64_t step) {
  return 50 * (1 - 1e-5 * static_cast<double>(step));
}  // never 0.5 % at a time
double rising(int64_t step) {
  return 10.0 + static_cast<double>(step);
}
double equal(int64_t) {
  return 0;
}

TEST(Monitor, StopsWhereTheTutorialsStop) {
  for (auto [batches, epochs, patience, increase] : {std::tuple<int64_t, int64_t, int64_t, double>{10, 30, 50, 2},
                                                     {83, 20, 5000, 2},
                                                     {10, 1000, 60, 1.5},
                                                     {7, 50, 4, 2},
                                                     {10, 12, 100, 1},
                                                     {5, 100, 31, 2.5}})
    for (double (*error)(int64_t) : {falling, falling_then_flat, slow, rising, equal}) {
      TrainerConfig c = config(patience, increase);
      Tutorial tutorial(batches, epochs, c, error);
      Monitor monitor(c, batches);
      EXPECT_EQ(monitor.frequency(), tutorial.frequency);
      int64_t last = -1;
      for (int64_t step = 0; step < epochs * batches; ++step) {
        last = step;
        if (monitor.validates_after(step)) monitor.record(step, step / batches + 1, error(step));
        if (monitor.ends_after(step)) break;
      }
      EXPECT_EQ(last, tutorial.stop_step) << batches << " " << patience;
      EXPECT_EQ(monitor.state().best_epoch, tutorial.best_epoch);
      EXPECT_EQ(monitor.state().best_error, tutorial.best);
      EXPECT_EQ(monitor.state().patience, tutorial.patience);
    }
}

TEST(Monitor, PatienceGrowsOnlyByARealImprovement) {
  Monitor monitor(config(20), 10);
  EXPECT_TRUE(monitor.record(9, 1, 50));
  EXPECT_EQ(monitor.state().patience, 20);   // max(20, 18)
  EXPECT_TRUE(monitor.record(19, 2, 49.9));  // the best, but not by 0.5 %
  EXPECT_EQ(monitor.state().patience, 20);
  EXPECT_FALSE(monitor.record(19, 2, 49.9));
  EXPECT_TRUE(monitor.record(19, 2, 49.0));
  EXPECT_EQ(monitor.state().patience, 38);
  EXPECT_FALSE(monitor.ends_after(37));
  EXPECT_TRUE(monitor.ends_after(38));
  EXPECT_FALSE(monitor.record(29, 3, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(monitor.state().best_epoch, 2);
}

TEST(Monitor, WithoutPatienceItValidatesEveryEpochAndNeverEnds) {
  Monitor monitor(config(0), 7);
  EXPECT_EQ(monitor.frequency(), 7);
  EXPECT_FALSE(monitor.has_best());
  EXPECT_FALSE(monitor.validates_after(5));
  EXPECT_TRUE(monitor.validates_after(6));
  EXPECT_FALSE(monitor.ends_after(1'000'000));
}

TEST(Monitor, TheFrequencyMayBeGiven) {
  TrainerConfig c = config(100);
  c.validation_frequency = 3;
  EXPECT_EQ(Monitor(c, 50).frequency(), 3);
  EXPECT_EQ(Monitor(config(100), 70).frequency(), 50);
  EXPECT_EQ(Monitor(config(100), 30).frequency(), 30);
}

// The improvement was after step 60: 2 * 60 raised the patience, 3 * 60 would have.
TEST(Monitor, AnEditedPatienceIsThatOfTheLastImprovement) {
  Monitor then(config(100), 20);
  EXPECT_TRUE(then.record(60, 4, 5.0));
  EXPECT_EQ(then.state().patience, 120);
  auto edited = [&](const TrainerConfig& now) {
    Monitor out(now, 20);
    out.restore(then.state());
    out.edit_patience(100, 2);
    return out.state().patience;
  };
  EXPECT_EQ(edited(config(100)), 120);
  EXPECT_EQ(edited(config(100, 3)), 180);
  EXPECT_EQ(edited(config(150)), 150);
  EXPECT_EQ(edited(config(40)), 120);
  Monitor never(config(0), 20);
  never.restore(then.state());
  never.edit_patience(100, 2);
  EXPECT_FALSE(never.ends_after(1000));
}

}  // namespace
}  // namespace thtrain
