// What ranks do together, and the sums of shards: by threads that stand for processes.
#include "trainers/ranks/ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/base/random_state.h"
#include "tests/support/thread_carrier.h"
#include "trainers/ranks/shard_tree.h"
#include "trainers/ranks/tensor_bytes.h"
#include "trainers/shard_range.h"

namespace thtrain::ranks_test {

using Texts = std::vector<std::string>;

TEST(Ranks, OneAloneIsAllOfThem) {
  Ranks alone;
  EXPECT_EQ(alone.gather("mine"), Texts{"mine"});
  EXPECT_EQ(alone.from_first("mine"), "mine");
  std::vector<float> values = {1, 2};
  alone.sum(values);
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  EXPECT_EQ(alone.name(), "rank 0");
}

TEST(Ranks, GatherGivesTheTextsOfAllToAll) {
  for (int size : {1, 2, 3, 4, 7}) {
    std::vector<Texts> found(static_cast<size_t>(size));
    const Texts errors = run_ranks(size, [&](Ranks& ranks) {
      found[static_cast<size_t>(ranks.rank())] = ranks.gather(std::string(static_cast<size_t>(ranks.rank()), 'x'));
      EXPECT_EQ(ranks.from_first(str("of ", ranks.rank())), "of 0");
    });
    Texts expected;
    for (int rank = 0; rank < size; ++rank) expected.emplace_back(static_cast<size_t>(rank), 'x');
    for (const Texts& one : found) EXPECT_EQ(one, expected) << size;
    EXPECT_EQ(errors, Texts(static_cast<size_t>(size)));
  }
}

// Numbers whose sum depends on the order of adding.
static std::vector<double> numbers_of(int64_t shard, int64_t elements) {
  RandomState random(shard);
  std::vector<double> out;
  for (int64_t i = 0; i < elements; ++i) out.push_back(random.uniform(-1, 1) * std::pow(10, random.uniform(-3, 3)));
  return out;
}

static std::vector<float> sum_of(int64_t shards, int64_t elements, int size) {
  std::vector<std::vector<float>> found(static_cast<size_t>(size));
  const Texts errors = run_ranks(size, [&](Ranks& ranks) {
    const int64_t each = shards / size, first = ranks.rank() * each;
    // Two buckets, of which the second one is added to first.
    ShardTree tree(DType::kFloat32, elements, each, {{0, elements / 3}, {elements / 3, elements}});
    for (int round = 0; round < 2; ++round) {  // the second one uses the same memory
      tree.clear();
      for (size_t bucket : {size_t{1}, size_t{0}}) {
        for (int64_t shard = first; shard < first + each; ++shard) {
          EXPECT_EQ(tree.next_shard(bucket), shard - first);
          const auto [begin, end] = tree.buckets()[bucket];
          std::vector<double> numbers = numbers_of(shard, elements);
          numbers = {numbers.begin() + begin, numbers.begin() + end};
          const Tensor values = Tensor::of(numbers, {end - begin}).cast(DType::kFloat32);
          scale_into(values, 0.1, tree.room(bucket), begin);
          tree.add(bucket);
        }
        sum_over(ranks, tree.sum(), tree.buckets()[bucket]);
      }
    }
    const float* all = tree.sum().data<float>();
    found[static_cast<size_t>(ranks.rank())].assign(all, all + elements);
  });
  EXPECT_EQ(errors, Texts(static_cast<size_t>(size)));
  for (const std::vector<float>& one : found) EXPECT_EQ(one, found[0]);
  return found[0];
}

// ((s0 + s1) + (s2 + s3)) + ..., by float32.
static std::vector<float> tree_sum(int64_t first, int64_t shards, int64_t elements) {
  std::vector<float> out;
  if (shards == 1) {
    for (double value : numbers_of(first, elements)) out.push_back(0.1F * static_cast<float>(value));
    return out;
  }
  out = tree_sum(first, shards / 2, elements);
  const std::vector<float> right = tree_sum(first + shards / 2, shards / 2, elements);
  for (size_t i = 0; i < out.size(); ++i) out[i] += right[i];
  return out;
}

TEST(Ranks, SumsAreThoseOfTheTreeWhoeverAddsThem) {
  for (int64_t elements : {1, 2, 3, 7, 1000})
    for (int64_t shards : {1, 2, 8})
      for (int size = 1; size <= shards; size *= 2)
        EXPECT_EQ(sum_of(shards, elements, size), tree_sum(0, shards, elements))
            << elements << ' ' << shards << ' ' << size;
}

TEST(Ranks, ARankThatSendsNothingIsNamed) {
  const Texts errors = run_ranks(
      4,
      [](Ranks& ranks) {
        std::vector<float> values(10);
        if (ranks.rank() != 3) ranks.sum(values);
      },
      0.2);
  EXPECT_EQ(errors[3], "");
  EXPECT_NE(errors[2].find("rank 3 ("), std::string::npos) << errors[2];
  EXPECT_NE(errors[2].find(" has sent nothing for "), std::string::npos) << errors[2];
  EXPECT_NE(errors[2].find(" seconds, and rank 2 ("), std::string::npos) << errors[2];
  EXPECT_NE(errors[2].find("THTRAIN_RANK_SECONDS sets how long ranks wait"), std::string::npos) << errors[2];
}

// Rank 0 works for longer than ranks wait for a message.
TEST(Ranks, WaitForTheFirstWhileItWorks) {
  std::atomic<int> worked = 0;
  const Texts errors = run_ranks(
      3,
      [&](Ranks& ranks) {
        for (int round = 0; round < 2; ++round) {
          ranks.while_first_works([&] {
            EXPECT_EQ(ranks.rank(), 0);
            std::this_thread::sleep_for(std::chrono::seconds(round == 0 ? 3 : 0));
            ++worked;
          });
          EXPECT_GE(worked, round + 1);
          EXPECT_EQ(ranks.from_first(str("of ", ranks.rank())), "of 0");
        }
      },
      1);
  EXPECT_EQ(errors, Texts(3));
}

TEST(Ranks, AFirstOneThatFailsAtItsWorkGivesNoMoreSigns) {
  const Texts errors = run_ranks(
      2, [](Ranks& ranks) { ranks.while_first_works([] { throw UserError(Message{.what = "the disk is full"}); }); },
      0.5);
  EXPECT_EQ(errors[0], "error: the disk is full");
  EXPECT_NE(errors[1].find("rank 0 ("), std::string::npos) << errors[1];
}

TEST(Ranks, TensorsAreTheSameAfterAMessage) {
  const std::vector<Tensor> sent = {Tensor::of(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}), Tensor(int64_t{7}),
                                    Tensor::zeros(DType::kFloat32, {0, 4})};
  std::string bytes;
  append_tensors(sent, bytes);
  append_tensors(std::span(sent).first(1), bytes);
  std::string_view rest = bytes;
  const std::vector<Tensor> taken = take_tensors(rest);
  ASSERT_EQ(taken.size(), 3);
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(taken[i].type_text(), sent[i].type_text());
    for (int64_t k = 0; k < sent[i].size(); ++k) EXPECT_EQ(taken[i].as_double(k), sent[i].as_double(k));
  }
  EXPECT_EQ(take_tensors(rest).size(), 1);
  EXPECT_TRUE(rest.empty());
}

TEST(Ranks, ShardsAreNeighboursOfAboutEqualLengths) {
  for (int64_t count : {1, 2, 4, 8})
    for (int64_t examples = 1; examples < 20; ++examples) {
      const ShardRange all{.count = count, .first = 0, .last = count};
      int64_t start = 0;
      for (int64_t shard = 0; shard < count; ++shard) {
        EXPECT_EQ(all.begin_of(shard, examples), start);
        const int64_t length = all.length_of(shard, examples);
        EXPECT_LE(std::abs(length * count - examples), count);
        if (length > 0) {
          EXPECT_EQ(all.length_at(start, examples), length) << count << ' ' << examples << ' ' << shard;
          EXPECT_EQ(all.next(start, examples), start);
        }
        start += length;
      }
      EXPECT_EQ(start, examples);
      EXPECT_EQ(all.next(examples, examples), examples);
    }
  const ShardRange second{.count = 4, .first = 2, .last = 4};
  EXPECT_EQ(second.length_at(0, 10), 0);  // of another process
  EXPECT_EQ(second.next(0, 10), 5);
  EXPECT_EQ(second.next(6, 10), 7);
  EXPECT_EQ(second.next(8, 10), 10);
  EXPECT_EQ(second.length_at(6, 10), 0);  // within a shard
}

}  // namespace thtrain::ranks_test
