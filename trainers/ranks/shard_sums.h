// What the shards of a minibatch give, summed over all shards of all processes while the last ones are computed.
#pragma once

#include <chrono>
#include <vector>

#include "trainers/ranks/bucket_sums.h"
#include "trainers/ranks/shard_tree.h"

namespace thtrain {

/// A shard gives arrays ("parts") in the order in which they are computed. Neighbours of them are a bucket, of at most
/// 512 KiB or of one part, which is summed over this process' shards and then over the ranks as soon as all shards have
/// given it.
class ShardSums {
 public:
  /// Of parts of so many elements, in the order in which they are expected; of so many shards of this process.
  ShardSums(DType dtype, const std::vector<int64_t>& sizes, int64_t shards, Ranks& ranks);

  void begin_step();
  /// factor * value is part `part` of a shard, which are numbered from 0. Any order. The value stays as it is until the
  /// shard has given all.
  void give(int64_t shard, size_t part, const Tensor& value, double factor);
  /// That shard has no examples.
  void give_zeros(int64_t shard);
  /// Waits until all is summed. RankFailure.
  void finish() { sums_.finish(); }
  /// Ends without them, where this process leaves the job.
  void give_up() { sums_.give_up(); }

  /// All parts, one behind the other, always in the same memory; their sums behind finish().
  Tensor& all() { return tree_.sum(); }
  int64_t begin_of(size_t part) const { return begins_[part]; }
  const std::vector<Bucket>& buckets() const { return tree_.buckets(); }
  uint64_t bytes() const { return tree_.bytes(); }

  const BucketSums::Times& times() const { return sums_.times(); }
  /// For each bucket the seconds from begin_step() until this process had it, of all steps together.
  const std::vector<double>& ready_seconds() const { return ready_seconds_; }

 private:
  struct Given {
    std::vector<std::pair<size_t, Tensor>> values = {};  // by parts
    std::vector<double> factors = {};
    bool is_zero = false;
  };
  void take(size_t bucket);

  std::vector<int64_t> sizes_, begins_;
  std::vector<size_t> bucket_of_;  // each part
  std::vector<size_t> parts_in_;   // each bucket
  ShardTree tree_;
  BucketSums sums_;
  std::vector<std::vector<Given>> given_;  // by buckets, by shards
  size_t handed_on_ = 0;                   // buckets
  std::chrono::steady_clock::time_point begin_;
  std::vector<double> ready_seconds_;
};

}  // namespace thtrain
