// The sum of what shards compute, by a binary tree over their numbers: the same bits whoever computes which of them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"
#include "trainers/ranks/halving.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// Of one process: the part of the tree above its shards, which are a power of two. Each bucket is added by itself.
class ShardTree {
 public:
  /// Of so many elements of each shard, float32 or float64.
  ShardTree(DType dtype, int64_t elements, int64_t shards, std::vector<Bucket> buckets);

  const std::vector<Bucket>& buckets() const { return buckets_; }
  int64_t shards() const { return shards_; }
  void clear() { added_.assign(buckets_.size(), 0); }
  /// The next shard to be added to that bucket; shards() where there is none left.
  int64_t next_shard(size_t bucket) const { return static_cast<int64_t>(added_[bucket]); }
  /// Room for the elements of next_shard() in that bucket: a whole buffer. Then add() takes them.
  Tensor& room(size_t bucket);
  void add(size_t bucket);
  uint64_t bytes() const { return levels_[0].bytes(); }
  /// The sum, bucket by bucket as soon as all shards are added; always in the same memory.
  Tensor& sum() { return levels_[0]; }

 private:
  std::vector<Bucket> buckets_;
  int64_t shards_;
  std::vector<Tensor> levels_;
  std::vector<uint64_t> added_;  // shards, to each bucket
};

/// to[begin...] = factor * from
void scale_into(const Tensor& from, double factor, Tensor& to, int64_t begin);
/// The bucket's elements of all ranks.
void sum_over(Ranks& ranks, Tensor& values, const Bucket& bucket);

}  // namespace thtrain
