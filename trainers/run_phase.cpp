// What a run has of the phases around it, and of its time.
#include "trainers/run.h"

namespace thtrain {

std::string Run::best_path() const {
  return start_.before.size() + 1 < phases_ ? folder_.best_of(phase_) : folder_.best();
}

std::vector<PhaseHistory> Run::histories() const {
  std::vector<PhaseHistory> out = start_.before;
  out.push_back({phase_, state_.history, program_.metric_names(), state_.earlier});
  return out;
}

PhaseStart Run::next_phase() {
  PhaseStart out{.before = histories(), .weights = weight_arrays(), .random = next_random_, .last = start_.last};
  for (auto& [name, value] : out.weights) value = value.copy();
  if (state_.batch > 0) {  // an epoch that was not finished: its order was drawn, also where the run is resumed here
    RandomState random = state_.random;
    program_.begin_epoch(random, state_.epochs);
    out.random = random;
  }
  if (experiment_.phase.back().pass_on == PhaseConfig::PassOn::kLast) return out;
  if (!best_.empty())
    out.weights = best_;
  else if (hooks_.on_message)
    hooks_.on_message(str("phase ", phase_, " ended before its first validation: its last weights are passed on"));
  return out;
}

// ---- time ----------------------------------------------------------------------------------------------------------

// `more`: the part of an epoch that this process has done since its last checkpoint.
bool Run::is_time_spent(double more) const {
  const double limit = experiment_.trainer.max_seconds;
  return limit > 0 && training_seconds({}, state_) + more >= limit;
}

// After a minibatch. The last one of the run ends it by itself.
bool Run::ends_by_time() const {
  if (experiment_.trainer.max_seconds == 0) return false;
  const bool is_last = state_.batch == program_.batches() && state_.epochs + 1 >= experiment_.trainer.epochs;
  return !is_last && is_time_spent(std::chrono::duration<double>(Clock::now() - epoch_began_).count());
}

// Before the first minibatch of a process, where those before it took all the time.
void Run::end_where_time_is_spent() {
  if (is_over() || state_.step == 0 || !is_time_spent(0)) return;
  if (state_.batch > 0)
    state_.is_unmeasured = true;  // it is measured, and ends then
  else
    state_.stopped_early = state_.out_of_time = true;
}

}  // namespace thtrain
