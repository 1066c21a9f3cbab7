#include "nn/schedules/constant.h"

namespace thtrain {

void ConstantSchedule::describe(Fields<ScheduleKind<ConstantSchedule>>& f) {
  f.about("The number stays as it is.");
  describe_unit(f);
}

Kind<ScheduleOptions> constant_schedule() {
  return kind<ScheduleKind<ConstantSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
