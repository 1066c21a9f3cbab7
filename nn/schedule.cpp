#include "nn/schedule.h"

#include <algorithm>

#include "nn/schedules/linear_warm_up.h"

namespace thtrain {

void Schedule::observe(double, bool) {}

std::shared_ptr<Schedule> ScheduleOptions::make(const RunLength& run) const {
  if (warmup == 0) return make_without_warmup(run);
  // What follows the warm-up has the rest of the run.
  auto rest = [&](int64_t whole) { return whole == 0 ? 0 : std::max<int64_t>(whole - warmup, 1); };
  return std::make_shared<LinearWarmUp>(LinearWarmUp::Options{.length = warmup, .start = warmup_start},
                                        make_without_warmup({rest(run.steps), rest(run.epochs)}));
}

int64_t length_or_run(std::string_view name, int64_t given, ScheduleUnit per, const RunLength& run) {
  bool in_epochs = per == ScheduleUnit::kEpoch;
  int64_t length = given != 0 ? given : in_epochs ? run.epochs : run.steps;
  if (length == 0)
    throw UserError(Message{.what = str(name, ": the length is not given, and that of the run is not known"),
                            .expected = str("length, at least 1 (", in_epochs ? "epochs" : "steps", ")")});
  return length;
}

#define TH_SCHEDULE(name) Kind<ScheduleOptions> name##_schedule();
#include "nn/schedule_list.inc"
#undef TH_SCHEDULE

const std::vector<Kind<ScheduleOptions>>& ScheduleOptions::kinds() {
  static const std::vector<Kind<ScheduleOptions>> kinds = {
#define TH_SCHEDULE(name) name##_schedule(),
#include "nn/schedule_list.inc"
#undef TH_SCHEDULE
  };
  return kinds;
}

void describe_warmup(Fields<ScheduleOptions> f) {
  const auto keys = f.group("unit and warm-up");
  f.field("warmup", &ScheduleOptions::warmup)
      .range(at_least(0))
      .unit("epochs or steps")
      .synonyms({"warmup_epochs", "warmup_steps"})
      .help("Length of a linear warm-up, after which the schedule begins; 0: none.");
  f.field("warmup_start", &ScheduleOptions::warmup_start)
      .range(between(0, 1))
      .help("Where the warm-up begins, of the whole.");
}

}  // namespace thtrain
