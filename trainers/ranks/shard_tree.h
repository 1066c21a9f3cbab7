// The sum of what shards compute, by a binary tree over their numbers: the same bits whoever computes which of them.
#pragma once

#include <vector>

#include "compiler/ir/tensor.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// Of one process: the part of the tree above its shards, which are a power of two.
class ShardTree {
 public:
  /// Of so many elements of each shard, float32 or float64.
  ShardTree(DType dtype, int64_t elements, int64_t shards);

  void clear() { added_ = 0; }
  /// Room for the next shard's elements; add() comes next.
  Tensor& next();
  void add();
  uint64_t bytes() const { return levels_[0].bytes(); }
  /// After all shards: their sum, always in the same memory.
  Tensor& sum() { return levels_[0]; }

 private:
  std::vector<Tensor> levels_;
  uint64_t added_ = 0;
};

/// to[begin...] = factor * from
void scale_into(const Tensor& from, double factor, Tensor& to, int64_t begin);
/// Those of all ranks.
void sum_over(Ranks& ranks, Tensor& values);

}  // namespace thtrain
