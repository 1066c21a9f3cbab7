// Schedules: numbers of an optimizer as functions of how far the training is.
#pragma once

#include <memory>
#include <string>

#include "nn/options.h"
#include "nn/param.h"

namespace thtrain {

/// What is done so far: 0 and 0 in the first step of the first epoch.
struct ScheduleTime {
  int64_t step = 0;   // steps of the optimizer
  int64_t epoch = 0;  // whole epochs
};

/// How long the training will be; 0 where that is not known.
struct RunLength {
  int64_t steps = 0;
  int64_t epochs = 0;
};

/// What a schedule counts.
enum class ScheduleUnit { kEpoch, kStep };

/// A factor of a number, most often of the learning rate; or the number itself, such as a momentum that grows. It is a
/// pure function of a count of epochs or steps, and of named state where a schedule looks at validation values.
class Schedule {
 public:
  explicit Schedule(ScheduleUnit per) : per_(per) {}
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  ScheduleUnit per() const { return per_; }
  double at(const ScheduleTime& done) const { return factor(per_ == ScheduleUnit::kEpoch ? done.epoch : done.step); }
  /// After `count` = 0, 1, ... epochs or steps, as per() says.
  virtual double factor(int64_t count) const = 0;

  /// A new validation value, by which some schedules go.
  virtual void observe(double value, bool larger_is_better);
  virtual bool observes() const { return false; }
  /// What a checkpoint keeps: float64 scalars such as "plateau/best". Empty where factor() needs the count alone.
  virtual NamedState state() const { return {}; }

 private:
  ScheduleUnit per_;
};

/// What a configuration says of a schedule; each kind makes its own. The warm-up is before all of them.
struct ScheduleOptions : Section {
  int64_t warmup = 0;         // epochs or steps, as the schedule counts
  double warmup_start = 0.1;  // the first factor

  virtual ~ScheduleOptions() = default;
  /// UserError where an option is out of its range, or a length is that of the run, which is not known.
  std::shared_ptr<Schedule> make(const RunLength& run = {}) const;
  /// Those of nn/schedule_list.inc: a line `TH_SCHEDULE(step)` stands for `Kind<ScheduleOptions> step_schedule()`.
  static const std::vector<Kind<ScheduleOptions>>& kinds();

 protected:
  virtual std::shared_ptr<Schedule> make_without_warmup(const RunLength& run) const = 0;
};

/// Declares what a schedule counts.
template <class Table>
void describe_unit(Fields<Table>& f) {
  const auto keys = f.group("unit and warm-up");
  f.choice("per", &Table::per, {{"epoch", ScheduleUnit::kEpoch}, {"step", ScheduleUnit::kStep}})
      .help("What the schedule counts: epochs, or steps of the optimizer.");
}

/// Declares the warm-up that every schedule may have in front.
void describe_warmup(Fields<ScheduleOptions> f);

/// The configuration of the schedule S: the members of S::Options, declared by S::describe.
template <class S>
struct ScheduleKind final : ScheduleOptions, S::Options {
  static constexpr std::string_view kName = S::kName;
  static void describe(Fields<ScheduleKind>& f) {
    S::describe(f);
    describe_warmup(f);
  }

 protected:
  std::shared_ptr<Schedule> make_without_warmup(const RunLength& run) const override {
    const typename S::Options& options = *this;
    if constexpr (requires { S(options, run); })
      return std::make_shared<S>(options, run);
    else
      return std::make_shared<S>(options);
  }
};

/// The length that a schedule goes by: `given`, or where that is 0 the run's, in what `per` says. UserError where
/// neither is known; `name` is the schedule's.
int64_t length_or_run(std::string_view name, int64_t given, ScheduleUnit per, const RunLength& run);

}  // namespace thtrain
