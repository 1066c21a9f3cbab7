// Averages of the weights over the steps, which often predict better than the last weights.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "nn/param.h"

namespace thtrain {

/// With the weights W after step t = 1, 2, ..., and s = max(start, 1):
///
///   until step s     A <- W
///   equal            A <- A + (W - A) / (t - s + 1)       the mean of the weights since step s
///   exponential      A <- A + (1 - d) (W - A)             d = `decay`
///
/// B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J. Control Optim. 30, 1992. As
/// PyTorch's AveragedModel, by itself and with get_ema_avg_fn.
class WeightAverage {
 public:
  enum class Kind { kEqual, kExponential };
  struct Options {
    Kind kind = Kind::kEqual;
    double decay = 0.999;
    int64_t start = 0;  // steps
  };
  /// A is the weights until the first step. UserError where the decay is not in [0, 1) or the start below 0.
  WeightAverage(const Options& options, std::vector<Param> params);

  /// Of the averages; `of_step` updates each of the parameters.
  std::vector<Update> updates(const std::vector<Update>& of_step) const;
  /// What a checkpoint keeps: "average/hidden/W", and "averaged", the number of steps.
  const NamedState& state() const { return state_; }
  /// Each parameter with its average: Function::copy(pairs()) of a function of the parameters is that of the averages.
  std::vector<std::pair<Shared, Shared>> pairs() const;
  /// Exchanges the values of the parameters and of their averages: for evaluation or saving, and once more to go on.
  void swap() const;

 private:
  Options options_;
  std::vector<Param> params_;
  std::vector<Shared> averages_;
  Shared count_;
  NamedState state_;
};

/// While it lives, the parameters hold their averages.
class AveragedWeights {
 public:
  explicit AveragedWeights(const WeightAverage& average) : average_(average) { average_.swap(); }
  ~AveragedWeights() { average_.swap(); }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  const WeightAverage& average_;
};

}  // namespace thtrain
