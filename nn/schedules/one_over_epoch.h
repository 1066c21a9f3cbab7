// A schedule that falls as one over the number of epochs.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// 1 / (1 + decay t): the rate of stochastic approximation, whose sum diverges and whose sum of squares does not.
/// H. Robbins, S. Monro, "A stochastic approximation method", Annals of Mathematical Statistics 22, 1951; the form of
/// L. Bottou, "Stochastic gradient descent tricks", 2012, section 5.2. TensorFlow's InverseTimeDecay.
class OneOverEpochSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "one_over_epoch";
  struct Options {
    double decay = 1;
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<OneOverEpochSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where the decay is not above 0.
  explicit OneOverEpochSchedule(const Options& options);
  double factor(int64_t count) const override;

 private:
  Options options_;
};

}  // namespace thtrain
