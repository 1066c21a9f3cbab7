#include "nn/schedules/polynomial.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

void PolynomialSchedule::describe(Fields<Table>& f) {
  f.about("From `first` to `last` along a power of the time that is left; with power 1 a straight line.");
  f.field("length", &Table::length)
      .range(at_least(0))
      .unit("epochs or steps")
      .synonyms({"total_iters", "decay_steps"})
      .help("After which it stays at `last`; 0: the whole run.");
  f.field("power", &Table::power).range(above(0)).help("Power of the part of the time that is left.");
  f.field("first", &Table::first).range(at_least(0)).help("Factor at the start.");
  f.field("last", &Table::last).range(at_least(0)).synonyms({"end"}).help("Factor at the end.");
  describe_unit(f);
}

PolynomialSchedule::PolynomialSchedule(const Options& options, const RunLength& run)
    : Schedule(options.per),
      options_((check_options<Table>(kName, options), options)),
      length_(static_cast<double>(length_or_run(kName, options.length, options.per, run))) {}

double PolynomialSchedule::factor(int64_t count) const {
  double left = 1 - std::min(static_cast<double>(count), length_) / length_;
  return options_.last + (options_.first - options_.last) * std::pow(left, options_.power);
}

Kind<ScheduleOptions> polynomial_schedule() {
  return kind<ScheduleKind<PolynomialSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
