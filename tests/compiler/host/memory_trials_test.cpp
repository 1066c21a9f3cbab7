// Tests of compiler/host/memory_trials.h: what is chosen from times.
#include "compiler/host/memory_trials.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

using detail::best_non_temporal_limit;
using detail::best_prefetch_lines;

TEST(NonTemporalLimit, LiesBetweenTheSizesWhereTheOtherStoreIsFaster) {
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 4, 2}}), 6000);
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}}), 0) << "ordinary stores are always faster";
  EXPECT_EQ(best_non_temporal_limit({{1000, 2, 1}, {4000, 2, 1}}), 500) << "non-temporal ones are";
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1.05, 1}}), 0) << "by less than a tenth";
}

// A moment in which another program had the core decides nothing: the sizes around it say otherwise.
TEST(NonTemporalLimit, OneWrongTimeDoesNotMoveIt) {
  EXPECT_EQ(best_non_temporal_limit({{1000, 1.5, 1.4}, {2000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 4, 2}}), 6000);
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 2, 2.2}}), 6000);
}

TEST(PrefetchLines, MustGainMoreThanAFiftiethOnNone) {
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.99, 0.99}}, {16, {1.1, 1}}}), 0);
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.9, 1}}, {16, {0.8, 1}}}), 16);
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.5, 2.5}}}), 0) << "both sizes count";
}

TEST(MemoryTrials, UnknownCachesAreNotMeasured) {
  const kernel::Target unknown{.vector_bytes = 16, .second_cache_bytes = 0, .last_cache_bytes = 0};
  EXPECT_EQ(measure_memory_limits(unknown), (kernel::MemoryLimits{0, 0, 0}));
}

}  // namespace
}  // namespace thtrain
