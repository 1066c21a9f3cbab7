// A linear warm-up before another schedule.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// With the length n, the start a, and the factor f(t) of the schedule that follows:
///
///   t < n    (a + (1 - a) t / n) f(0)
///   else     f(t - n)
///
/// P. Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", 2017, section 2.2. As PyTorch's
/// SequentialLR of LinearLR and the other.
class LinearWarmUp : public Schedule {
 public:
  struct Options {
    int64_t length = 5;  // epochs or steps, as the schedule that follows counts
    double start = 0.1;  // the first factor
  };
  /// UserError where the length is below 1 or the start not from 0 to 1.
  LinearWarmUp(const Options& options, std::shared_ptr<Schedule> then);

  double factor(int64_t count) const override;
  void observe(double value, bool larger_is_better) override { then_->observe(value, larger_is_better); }
  bool observes() const override { return then_->observes(); }
  NamedState state() const override { return then_->state(); }

 private:
  Options options_;
  std::shared_ptr<Schedule> then_;
};

}  // namespace thtrain
