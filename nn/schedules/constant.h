// The schedule that changes nothing.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// 1. A warm-up may precede it.
class ConstantSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "constant";
  struct Options {
    ScheduleUnit per = ScheduleUnit::kEpoch;  // of a warm-up
  };
  static void describe(Fields<ScheduleKind<ConstantSchedule>>& f);

  explicit ConstantSchedule(const Options& options) : Schedule(options.per) {}
  double factor(int64_t) const override { return 1; }
};

}  // namespace thtrain
