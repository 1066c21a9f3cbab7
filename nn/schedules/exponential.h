// A schedule that falls by the same factor each time.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// decay^t. PyTorch's ExponentialLR.
class ExponentialSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "exponential";
  struct Options {
    double decay = 0.95;
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<ExponentialSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where the decay is not above 0.
  explicit ExponentialSchedule(const Options& options);
  double factor(int64_t count) const override;

 private:
  Options options_;
};

}  // namespace thtrain
