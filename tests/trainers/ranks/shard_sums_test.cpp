// What shards give in parts, summed bucket by bucket while they compute: by threads that stand for processes.
#include "trainers/ranks/shard_sums.h"

#include <gtest/gtest.h>

#include <thread>

#include "compiler/base/random_state.h"
#include "tests/support/thread_carrier.h"

namespace thtrain::shard_sums_test {

using Texts = std::vector<std::string>;

// Three buckets: the first part and the last three are too small for one of their own.
const std::vector<int64_t> kSizes = {70, 270'000, 140'000, 40'000, 7, 1, 3};

Tensor values_of(int64_t shard, size_t part) {
  RandomState random(static_cast<int64_t>(kSizes.size()) * shard + static_cast<int64_t>(part));
  std::vector<float> out;
  for (int64_t i = 0; i < kSizes[part]; ++i)
    out.push_back(static_cast<float>(random.uniform(-1, 1) * std::pow(10, random.uniform(-3, 3))));
  return Tensor::of(out, {kSizes[part]});
}

// By `size` ranks; every second shard gives its parts from the last to the first.
std::vector<float> sums_by(int size, int64_t shards) {
  std::vector<std::vector<float>> found(static_cast<size_t>(size));
  const Texts errors = run_ranks(size, [&](Ranks& ranks) {
    const int64_t each = shards / size, first = ranks.rank() * each;
    ShardSums sums(DType::kFloat32, kSizes, each, ranks);
    EXPECT_EQ(sums.buckets().size(), 3);
    for (int step = 0; step < 2; ++step) {
      sums.begin_step();
      for (int64_t shard = 0; shard < each; ++shard)
        for (size_t k = 0; k < kSizes.size(); ++k) {
          const size_t part = (first + shard) % 2 == 0 ? k : kSizes.size() - 1 - k;
          sums.give(shard, part, values_of(first + shard, part), 0.5);
        }
      sums.finish();
    }
    const float* all = sums.all().data<float>();
    found[static_cast<size_t>(ranks.rank())].assign(all, all + sums.all().size());
    EXPECT_EQ(sums.times().sums > 0, size > 1);
    for (double seconds : sums.ready_seconds()) EXPECT_GT(seconds, 0);
  });
  EXPECT_EQ(errors, Texts(static_cast<size_t>(size)));
  for (const std::vector<float>& one : found) EXPECT_EQ(one, found[0]);
  return found[0];
}

TEST(ShardSums, AreThoseOfTheTreeInAnyOrderOfParts) {
  // ((s0 + s1) + (s2 + s3))
  std::vector<float> expected;
  for (size_t part = 0; part < kSizes.size(); ++part) {
    std::vector<Tensor> of;
    for (int64_t shard = 0; shard < 4; ++shard) of.push_back(values_of(shard, part));
    for (int64_t i = 0; i < kSizes[part]; ++i) {
      auto at = [&](size_t shard) { return 0.5F * of[shard].data<float>()[i]; };
      expected.push_back((at(0) + at(1)) + (at(2) + at(3)));
    }
  }
  for (int size : {1, 2, 4}) EXPECT_EQ(sums_by(size, 4), expected) << size;
}

TEST(ShardSums, AShardWithoutExamplesGivesZeros) {
  Ranks alone;
  ShardSums sums(DType::kFloat64, {2, 1}, 2, alone);
  for (int step = 0; step < 2; ++step) {
    sums.begin_step();
    sums.give(0, 0, Tensor::vector({1.0, 2.0}), 3);
    sums.give(0, 1, Tensor::vector({5.0}), 1);
    sums.give(1, 1, Tensor::vector({7.0}), 1);  // what it has to say all the same
    sums.give_zeros(1);
    sums.finish();
    EXPECT_EQ(sums.all().data<double>()[0], 3);
    EXPECT_EQ(sums.all().data<double>()[1], 6);
    EXPECT_EQ(sums.all().data<double>()[2], 12);
  }
}

TEST(ShardSums, BucketsAreSummedWhileTheRestIsComputed) {
  std::vector<double> hidden(2), waited(2);
  const Texts errors = run_ranks(2, [&](Ranks& ranks) {
    ShardSums sums(DType::kFloat32, kSizes, 1, ranks);
    sums.begin_step();
    sums.give(0, 0, values_of(ranks.rank(), 0), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (size_t part = 1; part < kSizes.size(); ++part) sums.give(0, part, values_of(ranks.rank(), part), 1);
    sums.finish();
    hidden[static_cast<size_t>(ranks.rank())] = sums.times().hidden;
  });
  EXPECT_EQ(errors, Texts(2));
  EXPECT_GT(hidden[0] + hidden[1], 0);
}

TEST(ShardSums, ARankThatIsLostIsNamedWhenTheSumsAreNeeded) {
  const Texts errors = run_ranks(
      2,
      [](Ranks& ranks) {
        if (ranks.rank() == 1) return;
        ShardSums sums(DType::kFloat32, kSizes, 1, ranks);
        sums.begin_step();
        for (size_t part = 0; part < kSizes.size(); ++part) sums.give(0, part, values_of(0, part), 1);
        sums.finish();
      },
      0.2);
  EXPECT_NE(errors[0].find("rank 1 ("), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find(" has sent nothing for "), std::string::npos) << errors[0];
}

TEST(ShardSums, WhoLeavesTheJobDoesNotWaitForTheOthers) {
  const Texts errors = run_ranks(
      2,
      [](Ranks& ranks) {
        if (ranks.rank() == 1) return;
        ShardSums sums(DType::kFloat32, kSizes, 1, ranks);
        sums.begin_step();
        sums.give(0, 0, values_of(0, 0), 1);
        sums.give_up();
      },
      1000);
  EXPECT_EQ(errors, Texts(2));
}

}  // namespace thtrain::shard_sums_test
