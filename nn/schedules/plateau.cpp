#include "nn/schedules/plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thtrain {

void PlateauSchedule::describe(Fields<Table>& f) {
  f.about("Multiplied by `decay` when the validation value has not improved for `patience` validations.");
  f.field("decay", &Table::decay)
      .range(between_open(0, 1))
      .synonyms({"factor", "gamma"})
      .help("Factor at each change.");
  f.field("patience", &Table::patience)
      .range(at_least(0))
      .unit("validations")
      .help("Validations without an improvement that are waited for; the next one changes the factor.");
  f.field("threshold", &Table::threshold)
      .range(at_least(0))
      .synonyms({"min_delta"})
      .help("By how much a value must be better than the best one to be an improvement.");
  f.choice("threshold_mode", &Table::threshold_mode, {{"rel", Threshold::kRelative}, {"abs", Threshold::kAbsolute}})
      .help("Whether `threshold` is a part of the best value (`rel`) or a difference (`abs`).");
  f.field("cooldown", &Table::cooldown)
      .range(at_least(0))
      .unit("validations")
      .help("Validations after a change that do not count.");
  f.field("last", &Table::last).range(from_below(0, 1)).synonyms({"min_lr"}).help("Smallest factor.");
}

static Shared scalar(double value, const char* name) {
  return Shared(Tensor(value), name, true);
}
static void set(const Shared& scalar, double value) {
  scalar.set_value(Tensor(value));
}

PlateauSchedule::PlateauSchedule(const Options& options)
    : Schedule(ScheduleUnit::kEpoch),
      options_((check_options<Table>(kName, options), options)),
      best_(scalar(std::numeric_limits<double>::quiet_NaN(), "plateau/best")),
      waited_(scalar(0, "plateau/waited")),
      cooldown_(scalar(0, "plateau/cooldown")),
      factor_(scalar(1, "plateau/factor")) {}

NamedState PlateauSchedule::state() const {
  NamedState out;
  for (const Shared& one : {best_, waited_, cooldown_, factor_}) out.emplace_back(one.name(), one);
  return out;
}

double PlateauSchedule::factor(int64_t) const {
  return factor_.scalar();
}

bool PlateauSchedule::improves(double value, double best, bool larger_is_better) const {
  if (std::isnan(best)) return !std::isnan(value);
  double away = options_.threshold * (options_.threshold_mode == Threshold::kRelative ? best : 1);
  return larger_is_better ? value > best + away : value < best - away;
}

void PlateauSchedule::observe(double value, bool larger_is_better) {
  double waited = waited_.scalar() + 1, cooldown = cooldown_.scalar();
  if (improves(value, best_.scalar(), larger_is_better)) {
    set(best_, value);
    waited = 0;
  }
  if (cooldown > 0) {
    --cooldown;
    waited = 0;
  }
  if (waited > static_cast<double>(options_.patience)) {
    set(factor_, std::max(factor_.scalar() * options_.decay, options_.last));
    cooldown = static_cast<double>(options_.cooldown);
    waited = 0;
  }
  set(waited_, waited);
  set(cooldown_, cooldown);
}

Kind<ScheduleOptions> plateau_schedule() {
  return kind<ScheduleKind<PlateauSchedule>, ScheduleOptions>();
}

}  // namespace thtrain
