#include "reports/thinned_epochs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace thtrain {
namespace {

TEST(ThinnedEpochs, AShortRunStaysWhole) {
  ThinnedEpochs thinned;
  for (int64_t epoch = 1; epoch <= static_cast<int64_t>(ThinnedEpochs::kMostGroups); ++epoch)
    thinned.add({.epoch = epoch, .train_loss = 1});
  const std::vector<EpochReport> all = thinned.take();
  ASSERT_EQ(all.size(), ThinnedEpochs::kMostGroups);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].epoch, static_cast<int64_t>(i) + 1);
  EXPECT_TRUE(thinned.take().empty());
}

TEST(ThinnedEpochs, ALongRunKeepsItsEndsExtremesAndBestEpoch) {
  constexpr int64_t kEpochs = 300'001;
  ThinnedEpochs thinned;
  for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    EpochReport report{.epoch = epoch, .train_loss = 1 / std::sqrt(static_cast<double>(epoch)), .valid_error = 50.0};
    if (epoch == 77'777) report.train_loss = 9;
    if (epoch == 123'456) report.valid_error = 1;
    if (epoch % 1000 == 0) report.valid_loss = std::nan("");
    report.best = epoch == 200'003;
    thinned.add(std::move(report));
  }
  const std::vector<EpochReport> kept = thinned.take();
  EXPECT_LT(kept.size(), 12 * ThinnedEpochs::kMostGroups);
  EXPECT_GT(kept.size(), ThinnedEpochs::kMostGroups / 2);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.epoch < b.epoch; }));
  EXPECT_EQ(kept.front().epoch, 1);
  EXPECT_EQ(kept.back().epoch, kEpochs);
  for (int64_t wanted : {77'777, 123'456, 200'003})
    EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const EpochReport& r) { return r.epoch == wanted; }))
        << wanted;
}

}  // namespace
}  // namespace thtrain
