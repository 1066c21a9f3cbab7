#include "nn/schedules/cosine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thtrain {

void CosineSchedule::describe(Fields<Table>& f) {
  f.about("Half a cosine from 1 down to `last`, once, or again and again (SGDR).");
  f.field("length", &Table::length)
      .range(at_least(0))
      .unit("epochs or steps")
      .synonyms({"T_max", "T_0"})
      .help("Of the first half wave; 0: the whole run.");
  f.field("last", &Table::last).range(between(0, 1)).synonyms({"eta_min"}).help("Factor at the end of a half wave.");
  f.field("restarts", &Table::restarts).help("Begin again at 1 after each half wave, instead of staying at `last`.");
  f.field("growth", &Table::growth)
      .range(between(1, 1000))
      .synonyms({"T_mult"})
      .help("How many times as long as the one before each half wave is.");
  describe_unit(f);
  f.check([](const Table& c, Findings& findings) {
    auto useless = [&](const char* key, const char* expected) {
      findings.add({.what = str(c.name_of(key), " has no effect"), .expected = expected, .config = c.at(key)});
    };
    if (c.growth != 1 && !c.restarts) useless("growth", "restarts = true");
    if (c.restarts && c.length == 0) useless("restarts", "length, shorter than the run");
  });
}

CosineSchedule::CosineSchedule(const Options& options, const RunLength& run)
    : Schedule(options.per),
      options_((check_options<Table>(kName, options), options)),
      length_(length_or_run(kName, options.length, options.per, run)) {}

double CosineSchedule::factor(int64_t count) const {
  int64_t length = length_;
  if (!options_.restarts) {
    count = std::min(count, length);
  } else if (options_.growth == 1) {
    count %= length;
  } else {
    for (; count >= length; length *= options_.growth) count -= length;
  }
  double part = static_cast<double>(count) / static_cast<double>(length);
  return options_.last + (1 - options_.last) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

Kind<ScheduleOptions> cosine_schedule() {
  return kind<ScheduleKind<CosineSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
