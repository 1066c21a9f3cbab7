// A schedule that falls at given epochs.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// decay^(number of milestones that are at most t). PyTorch's MultiStepLR.
class MultiStepSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "multistep";
  struct Options {
    std::vector<int64_t> milestones = {};  // epochs or steps, ascending; at least one
    double decay = 0.1;
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<MultiStepSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range, or the milestones are not ascending.
  explicit MultiStepSchedule(const Options& options);
  double factor(int64_t count) const override;

 private:
  Options options_;
};

}  // namespace thtrain
