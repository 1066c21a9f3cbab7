#include "trainers/schedules.h"

namespace thtrain {

Schedules::Schedules(const TrainerConfig& config, const Optimizer* optimizer, int64_t batches)
    : optimizer_(optimizer), accumulate_(config.accumulate) {
  const RunLength run{.steps = config.epochs * batches / config.accumulate, .epochs = config.epochs};
  auto add = [&](const char* key, const char* number, const std::optional<OneOf<ScheduleOptions>>& options) {
    if (options && optimizer_) entries_.push_back({key, number, (*options)->make(run)});
  };
  add("schedule", "learning_rate", config.schedule);
  add("momentum_schedule", "momentum", config.momentum_schedule);
}

void Schedules::apply(int64_t minibatches, int64_t epochs) {
  const ScheduleTime done{.step = minibatches / accumulate_, .epoch = epochs};
  for (Entry& entry : entries_) set_factor(entry, entry.schedule->at(done));
}

std::vector<double> Schedules::observed() const {
  std::vector<double> out;
  for (const Entry& entry : entries_)
    if (entry.schedule->observes()) out.push_back(entry.factor);
  return out;
}

void Schedules::apply_again(int64_t minibatches, int64_t epochs, const std::vector<double>& observed) {
  const ScheduleTime done{.step = minibatches / accumulate_, .epoch = epochs};
  for (size_t i = 0; Entry & entry : entries_)
    set_factor(entry, entry.schedule->observes() ? observed.at(i++) : entry.schedule->at(done));
}

void Schedules::set_factor(Entry& entry, double factor) {
  if (factor == entry.factor) return;
  entry.factor = factor;
  optimizer_->scale_number(entry.number, factor);
}

double Schedules::learning_rate_factor() const {
  for (const Entry& entry : entries_)
    if (entry.number == "learning_rate") return entry.factor;
  return 1;
}

bool Schedules::observes() const {
  for (const Entry& entry : entries_)
    if (entry.schedule->observes()) return true;
  return false;
}

void Schedules::observe(double value, bool larger_is_better) {
  for (const Entry& entry : entries_) entry.schedule->observe(value, larger_is_better);
}

NamedState Schedules::state() const {
  NamedState out;
  for (const Entry& entry : entries_)
    for (const auto& [name, variable] : entry.schedule->state()) out.emplace_back(str(entry.key, '/', name), variable);
  return out;
}

}  // namespace thtrain
