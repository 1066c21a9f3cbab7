// Gradients of several minibatches make one step: large minibatches in little memory.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "nn/param.h"

namespace thtrain {

/// Every `count`-th call takes a step with the mean of the gradients of `count` calls, each of which counts alike; the
/// others add up. The calls run one program, in which each update is chosen elementwise, so that none waits for a
/// branch. A sum that is not complete goes on in the next epoch.
class GradientAccumulation {
 public:
  /// UserError where `count` is below 1.
  GradientAccumulation(int64_t count, const std::vector<Param>& params);

  /// The mean of these gradients and of those that were kept: what a step is taken with, in the last call of `count`.
  std::vector<Expr> mean(const std::vector<Expr>& gradients) const;
  /// `of_step` in the last call of `count`, nothing of it in the others; and the updates of the kept sums.
  std::vector<Update> updates(const std::vector<Expr>& gradients, const std::vector<Update>& of_step) const;

  /// What a checkpoint keeps: "accumulated/hidden/W", sums of gradients, and "accumulated", their number.
  const NamedState& state() const { return state_; }

 private:
  int64_t count_;
  std::vector<Shared> sums_;
  Shared kept_;  // how many gradients are in the sums
  NamedState state_;
};

}  // namespace thtrain
