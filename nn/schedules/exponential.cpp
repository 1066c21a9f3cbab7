#include "nn/schedules/exponential.h"

#include <cmath>

namespace thtrain {

using Kind = ScheduleKind<ExponentialSchedule>;

void ExponentialSchedule::describe(Fields<Kind>& f) {
  f.about("Multiplied by `decay` after each epoch or step.");
  f.field("decay", &Kind::decay).range(above(0)).synonyms({"gamma"}).help("Factor of each epoch or step.");
  describe_unit(f);
}

ExponentialSchedule::ExponentialSchedule(const Options& options) : Schedule(options.per), options_(options) {
  check_options<Kind>(kName, options);
}

double ExponentialSchedule::factor(int64_t count) const {
  return std::pow(options_.decay, static_cast<double>(count));
}

}  // namespace thtrain
