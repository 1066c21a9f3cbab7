// Half a cosine from 1 down, once or again and again.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// last + (1 - last) (1 + cos(pi s / n)) / 2. Without restarts s = min(t, n), n = `length`; with restarts s is the time
/// since the last one, and each cycle is `growth` times as long as the one before.
///
/// I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017, eq. 5. As PyTorch's
/// CosineAnnealingLR up to n, which goes up again behind it, and CosineAnnealingWarmRestarts.
class CosineSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "cosine";
  struct Options {
    int64_t length = 0;  // epochs or steps, of the first cycle; 0: the whole run
    double last = 0;     // factor at the end of a cycle
    bool restarts = false;
    int64_t growth = 1;  // of the cycles
    ScheduleUnit per = ScheduleUnit::kEpoch;
  };
  using Table = ScheduleKind<CosineSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range, or the length is the run's, which is not known.
  explicit CosineSchedule(const Options& options, const RunLength& run = {});
  double factor(int64_t count) const override;

 private:
  Options options_;
  int64_t length_;
};

}  // namespace thtrain
