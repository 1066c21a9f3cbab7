#include "nn/schedules/multistep.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace thtrain {

void MultiStepSchedule::describe(Fields<Table>& f) {
  f.about("Multiplied by `decay` at each of the milestones.");
  f.field("milestones", &Table::milestones)
      .range(at_least(0))
      .unit("epochs or steps")
      .required()
      .synonyms({"steps", "boundaries"})
      .help("Where it changes, in ascending order.");
  f.field("decay", &Table::decay).range(above(0)).synonyms({"gamma"}).help("Factor at each milestone.");
  describe_unit(f);
  f.check([](const Table& c, Findings& findings) {
    if (std::adjacent_find(c.milestones.begin(), c.milestones.end(), std::greater_equal<>()) != c.milestones.end())
      findings.add({.what = str(c.name_of("milestones"), " are not in ascending order"),
                    .expected = "each above the one before",
                    .got = str('[', join(c.milestones, ", "), ']'),
                    .config = c.at("milestones")});
  });
}

MultiStepSchedule::MultiStepSchedule(const Options& options) : Schedule(options.per), options_(options) {
  check_options<Table>(kName, options);
}

double MultiStepSchedule::factor(int64_t count) const {
  auto passed = std::upper_bound(options_.milestones.begin(), options_.milestones.end(), count);
  return std::pow(options_.decay, static_cast<double>(passed - options_.milestones.begin()));
}

Kind<ScheduleOptions> multistep_schedule() {
  return kind<ScheduleKind<MultiStepSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
