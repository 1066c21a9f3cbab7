// The shards of a minibatch on a device: what they give stays there, and NCCL brings it to the devices of other ranks.
#pragma once

#include <memory>
#include <vector>

#include "compiler/runtime/function.h"
#include "trainers/ranks/device_ranks.h"

namespace thtrain {

/// What the shards of this process give, one behind the other in shared variables of the device, summed by the tree of
/// trainers/ranks/shard_tree.h: by functions there, and over the ranks by device_ranks.h.
class DeviceShards {
 public:
  /// Of parts of so many elements; of so many shards of this process, a power of two. `options`: of the functions.
  DeviceShards(DType dtype, const std::vector<int64_t>& sizes, int64_t shards, Ranks& ranks,
               const FunctionOptions& options);

  /// What a shard's function updates: all parts, in their order, each a value of its elements.
  Update update(const std::vector<Expr>& parts) const;
  /// The same function for each place that a shard may be computed into: level() says which.
  std::vector<Function> for_levels(const Function& function) const;

  void begin_step() { added_ = 0; }
  /// Where the next shard goes.
  size_t level() const;
  /// It is there.
  void add();
  /// It has no examples: zeros, but for the last part, which has these elements.
  void add_zeros(const Tensor& last);
  /// Over the ranks. RankFailure.
  void sum_over_ranks();
  int64_t elements() const { return begins_.back() + sizes_.back(); }
  /// The sum of a part, for functions of it.
  Expr part(size_t part, const Shape& shape) const;

 private:
  std::vector<int64_t> sizes_, begins_;
  std::vector<Shared> levels_;
  std::vector<Function> adders_;        // levels_[i] += levels_[i + 1]
  std::unique_ptr<DeviceRanks> ranks_;  // null: this process is alone
  uint64_t added_ = 0;
};

}  // namespace thtrain
