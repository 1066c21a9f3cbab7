// Sums over a minibatch of which a program computes a part, a shard.
#pragma once

#include <string>

#include "compiler/ops/operand.h"

namespace thtrain {

/// Who adds what the shards of a minibatch have.
class ShardMeeting {
 public:
  virtual ~ShardMeeting() = default;
  /// `mine` is this shard's value of the sum of that name. The sum over all shards, once each of them has called.
  virtual Tensor sum_of(const std::string& name, const Tensor& mine) = 0;
};

/// While it lives, programs that this thread calls meet the other shards there.
class ShardMeetingScope {
 public:
  explicit ShardMeetingScope(ShardMeeting& meeting);
  ~ShardMeetingScope();
  ShardMeetingScope(const ShardMeetingScope&) = delete;
  ShardMeetingScope& operator=(const ShardMeetingScope&) = delete;

 private:
  ShardMeeting* outer_;
};

/// The sum of x over the shards of the minibatch, elementwise: float32 or float64, the shape of x, which is that of all
/// shards. `name` tells it from the others of the program. Gradient: the sum of the shards' cotangents, so that the
/// derivative of a cost is that of the sum of the shards' costs. Calls meet the shards: InternalError without a
/// ShardMeetingScope.
Expr minibatch_sum(const Operand& x, const std::string& name);

/// Does one of these values need such a sum?
bool needs_minibatch_sum(const std::vector<Expr>& values);

}  // namespace thtrain
