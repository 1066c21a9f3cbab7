// Shards of a minibatch whose programs need sums over all shards while they run (nn/minibatch_sum.h).
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "nn/minibatch_sum.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// The shards of this process take turns: each computes as far as its next sum, then the one after it goes on. Sums are
/// those of the tree over all shards of all processes (trainers/ranks/shard_tree.h): the same bits whoever has which.
class ShardTurns {
 public:
  /// The ranks stay alive.
  ShardTurns(int64_t shards, Ranks& ranks) : shards_(shards), ranks_(ranks) {}

  /// Calls all of these, one for each shard of this process, each in a thread of its own but where there is one alone.
  /// All processes call it at once. Throws what one of them throws, when all have ended. InternalError where the
  /// shards' programs do not ask for the same sums in the same order.
  void run(const std::vector<std::function<void()>>& shards);
  /// Calls it with the sums of the last run(): a shard by itself, which computes what it did there.
  void repeat(const std::function<void()>& shard);

 private:
  class Seat;
  struct Ended {};  // what a shard that waits throws where another one has thrown

  void call(int64_t shard, const std::function<void()>& what);
  Tensor meet(int64_t shard, const std::string& name, const Tensor& mine);
  Tensor total() const;

  int64_t shards_;
  Ranks& ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t turn_ = 0;
  std::string name_;           // of the sum that they meet for
  std::vector<Tensor> given_;  // to it, by the shards before the one whose turn it is
  std::map<std::string, Tensor> sums_;
  std::exception_ptr failure_;
};

}  // namespace thtrain
