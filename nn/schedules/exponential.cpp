#include "nn/schedules/exponential.h"

#include <cmath>

namespace thtrain {

void ExponentialSchedule::describe(Fields<Table>& f) {
  f.about("Multiplied by `decay` after each epoch or step.");
  f.field("decay", &Table::decay).range(above(0)).synonyms({"gamma"}).help("Factor of each epoch or step.");
  describe_unit(f);
}

ExponentialSchedule::ExponentialSchedule(const Options& options) : Schedule(options.per), options_(options) {
  check_options<Table>(kName, options);
}

double ExponentialSchedule::factor(int64_t count) const {
  return std::pow(options_.decay, static_cast<double>(count));
}

Kind<ScheduleOptions> exponential_schedule() {
  return kind<ScheduleKind<ExponentialSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
