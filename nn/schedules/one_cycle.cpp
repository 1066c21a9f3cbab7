#include "nn/schedules/one_cycle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thtrain {

void OneCycleSchedule::describe(Fields<Table>& f) {
  f.about("Up from `start` to 1 and down to `last`, along half cosines.");
  f.field("length", &Table::length)
      .range(at_least(0))
      .unit("epochs or steps")
      .synonyms({"total_steps"})
      .help("Of the cycle; 0: the whole run.");
  f.field("rise", &Table::rise)
      .range(between_open(0, 1))
      .synonyms({"pct_start"})
      .help("The part of the length in which it goes up.");
  f.field("start", &Table::start).range(between(0, 1)).help("Factor at the start.");
  f.field("last", &Table::last).range(between(0, 1)).help("Factor at the end.");
  describe_unit(f);
}

OneCycleSchedule::OneCycleSchedule(const Options& options, const RunLength& run)
    : Schedule(options.per),
      options_((check_options<Table>(kName, options), options)),
      length_(static_cast<double>(length_or_run(kName, options.length, options.per, run))) {}

double OneCycleSchedule::factor(int64_t count) const {
  const double end = length_ - 1, turn = options_.rise * length_ - 1, t = std::min(static_cast<double>(count), end);
  // From 0 to 1 in [0, 1], along half a cosine.
  auto wave = [](double part) { return (1 - std::cos(std::numbers::pi * part)) / 2; };
  if (t < turn) return options_.start + (1 - options_.start) * wave(t / turn);
  return end > turn ? 1 - (1 - options_.last) * wave((t - turn) / (end - turn)) : 1;
}

Kind<ScheduleOptions> one_cycle_schedule() {
  return kind<ScheduleKind<OneCycleSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
