#include "nn/schedules/step.h"

#include <cmath>

namespace thtrain {

void StepSchedule::describe(Fields<Table>& f) {
  f.about("Multiplied by `decay` every few epochs or steps.");
  f.field("every", &Table::every)
      .range(at_least(1))
      .unit("epochs or steps")
      .synonyms({"step_size"})
      .help("From one change to the next.");
  f.field("decay", &Table::decay).range(above(0)).synonyms({"gamma"}).help("Factor at each change.");
  describe_unit(f);
}

StepSchedule::StepSchedule(const Options& options) : Schedule(options.per), options_(options) {
  check_options<Table>(kName, options);
}

double StepSchedule::factor(int64_t count) const {
  return std::pow(options_.decay, static_cast<double>(count / options_.every));
}

Kind<ScheduleOptions> step_schedule() {
  return kind<ScheduleKind<StepSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
