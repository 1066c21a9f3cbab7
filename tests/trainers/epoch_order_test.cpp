// The order of an epoch's examples: every one once, as the generator's state says, and how far it mixes them.
#include "trainers/epoch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace thtrain {
namespace {

std::vector<int64_t> arrivals_of(const EpochOrder& order, int64_t most) {
  std::vector<int64_t> out;
  Arrivals arrivals(order);
  for (Arrivals::Run run = arrivals.next(most); run.count > 0; run = arrivals.next(most))
    for (int64_t i = 0; i < run.count; ++i) out.push_back(run.first + i);
  return out;
}

TEST(EpochOrder, WithoutAWindowIsAPermutation) {
  for (int64_t window : {0, 10, 11}) {
    RandomState random(3), expected(3);
    EpochOrder order = draw_order(random, 10, window);
    EXPECT_EQ(order.examples, expected.permutation(10));
    EXPECT_EQ(random.state(), expected.state());
    EXPECT_EQ(order.window, std::min<int64_t>(window, 10));
    EXPECT_EQ(order.blocks.size(), window == 0 ? 0u : 1u);
  }
}

// An example is taken only after it came, and while it is held no more than the window are.
TEST(EpochOrder, TakesEveryExampleOnceOutOfTheWindow) {
  for (int64_t size : {2, 17, 100, 1001})
    for (int64_t window : {1, 2, 9, 64, 100}) {
      if (window >= size) continue;
      RandomState random(size + window);
      EpochOrder order = draw_order(random, size, window);
      std::vector<int64_t> sorted = order.examples, all(static_cast<size_t>(size));
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all);
      EXPECT_EQ(order.block, std::max<int64_t>(1, window / 8));
      const std::vector<int64_t> come = arrivals_of(order, 7);
      EXPECT_EQ(come, arrivals_of(order, size));
      for (int64_t turn = 0; turn < size; ++turn) {
        auto location = std::find(come.begin(), come.end(), order.examples[static_cast<size_t>(turn)]) - come.begin();
        EXPECT_LT(location, window + turn);
      }
      for (size_t i = 1; i < come.size(); ++i)
        if (come[i] % order.block != 0) {
          EXPECT_EQ(come[i], come[i - 1] + 1) << "within a block";
        }
    }
}

TEST(EpochOrder, IsAFunctionOfTheGeneratorsState) {
  RandomState one(5), same(5), other(6);
  const EpochOrder a = draw_order(one, 300, 32), b = draw_order(same, 300, 32), c = draw_order(other, 300, 32);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(one.state(), same.state());
  EXPECT_NE(a.examples, c.examples);
  EXPECT_NE(a.examples, draw_order(one, 300, 32).examples) << "the next epoch has another order";
  EXPECT_NE(a.examples, draw_order(same, 300, 33).examples);
}

}  // namespace
}  // namespace thtrain
