// A schedule that falls when the validation value does not improve any more.
#pragma once

#include "nn/schedule.h"

namespace thtrain {

/// Starts at 1. After more than `patience` validation values in turn that are no improvement it is multiplied by
/// `decay`, down to `last`; then `cooldown` values count neither way. A value v improves on the best b where
///
///   relative   v < b (1 - threshold), or v > b (1 + threshold) where larger is better
///   absolute   v < b - threshold,     or v > b + threshold
///
/// A NaN is no improvement. PyTorch's ReduceLROnPlateau, with factor, min_lr and eps = 0 as parts of the rate.
class PlateauSchedule : public Schedule {
 public:
  static constexpr std::string_view kName = "plateau";
  enum class Threshold { kRelative, kAbsolute };
  struct Options {
    double decay = 0.1;
    int64_t patience = 10;  // validations
    double threshold = 1e-4;
    Threshold threshold_mode = Threshold::kRelative;
    int64_t cooldown = 0;  // validations
    double last = 0;
  };
  using Table = ScheduleKind<PlateauSchedule>;
  static void describe(Fields<Table>& f);

  /// UserError where an option is out of its range.
  explicit PlateauSchedule(const Options& options);

  double factor(int64_t count) const override;
  void observe(double value, bool larger_is_better) override;
  bool observes() const override { return true; }
  /// "plateau/best", NaN before the first value; "plateau/waited", values without improvement; "plateau/cooldown",
  /// values that count neither way; "plateau/factor".
  NamedState state() const override;

 private:
  bool improves(double value, double best, bool larger_is_better) const;

  Options options_;
  Shared best_, waited_, cooldown_, factor_;  // float64 scalars
};

}  // namespace thtrain
