// A schedule along a power of the time that is left, or a straight line.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// last + (first - last) (1 - min(t, n) / n)^power with the length n. With power 1 a straight line from `first` to
/// `last`, which may rise: a momentum from 0.5 to 0.99. PyTorch's PolynomialLR is first = 1, last = 0.
class PolynomialSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "polynomial";
  struct Options {
    int64_t length = 0;  // epochs or steps; 0: the whole run
    double power = 1;
    double first = 1;
    double last = 0;
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<PolynomialSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range, or the length is the run's, which is not known.
  explicit PolynomialSchedule(const Options& options, const RunLength& run = {});
  double factor(int64_t count) const override;

 private:
  Options options_;
  double length_;
};

}  // namespace thtrain
