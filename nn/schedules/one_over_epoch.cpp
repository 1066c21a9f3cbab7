#include "nn/schedules/one_over_epoch.h"

namespace thtrain {

void OneOverEpochSchedule::describe(Fields<Table>& f) {
  f.about("Divided by 1 + `decay` times the number of epochs or steps.");
  f.field("decay", &Table::decay)
      .range(above(0))
      .synonyms({"decay_rate", "lr_decay"})
      .help("One over the number of epochs or steps after which half is left.");
  describe_unit(f);
}

OneOverEpochSchedule::OneOverEpochSchedule(const Options& options) : Schedule(options.per), options_(options) {
  check_options<Table>(kName, options);
}

double OneOverEpochSchedule::factor(int64_t count) const {
  return 1 / (1 + options_.decay * static_cast<double>(count));
}

Kind<ScheduleOptions> one_over_epoch_schedule() {
  return kind<ScheduleKind<OneOverEpochSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
