// A schedule that falls every few epochs.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// decay^floor(t / every). PyTorch's StepLR.
class StepSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "step";
  struct Options {
    int64_t every = 10;  // epochs or steps
    double decay = 0.1;
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<StepSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range.
  explicit StepSchedule(const Options& options);
  double factor(int64_t count) const override;

 private:
  Options options_;
};

}  // namespace thtrain
