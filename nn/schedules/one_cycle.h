// A schedule that rises once and falls once.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// With n = length - 1 and the turning point m = rise length - 1, along half cosines:
///
///   start + (1 - start) (1 - cos(pi t / m)) / 2              t <= m
///   last + (1 - last) (1 + cos(pi (t - m) / (n - m))) / 2    m <= t <= n, and `last` from then on
///
/// L. Smith, N. Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2018.
/// PyTorch's OneCycleLR, whose div_factor is 1 / start, and final_div_factor start / last.
class OneCycleSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "one_cycle";
  struct Options {
    int64_t length = 0;  // epochs or steps; 0: the whole run
    double rise = 0.3;
    double start = 0.04;
    double last = 4e-6;
    ScheduleUnit per = ScheduleUnit::kStep;
  };
  using Table = ScheduleKind<OneCycleSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range, or the length is the run's, which is not known.
  explicit OneCycleSchedule(const Options& options, const RunLength& run = {});
  double factor(int64_t count) const override;

 private:
  Options options_;
  double length_;
};

}  // namespace thtrain
