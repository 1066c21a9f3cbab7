#include "trainers/run/training.h"

#include <utility>

namespace thtrain {

static EpochReport empty_report(int64_t epoch, const MetricNames& metrics) {
  EpochReport out{.epoch = epoch};
  out.others.resize(metrics.size() - 1);
  return out;
}

Training::Training(const Experiment& of_phase, const Experiment& whole, const Dataset& data,
                   const std::string& config_folder, PhaseStart begin, const std::shared_ptr<Ranks>& ranks)
    : experiment(of_phase),
      phase(phase_name(of_phase)),
      is_last_phase(begin.before.size() + 1 >= phase_count(whole)),
      start(std::move(begin)),
      program(of_phase, data, config_folder, start.weights, ranks),
      monitor(of_phase.trainer, program.batches(), program.metric_names()[0].larger_is_better),
      fingerprint(machine_fingerprint(of_phase.compiler.threads)),
      next_random(start.random.value_or(program.model().random())) {
  const Fingerprint of_device = device_fingerprint(of_phase.compiler), of_program = program.fingerprint();
  fingerprint.insert(fingerprint.end(), of_device.begin(), of_device.end());
  fingerprint.insert(fingerprint.end(), of_program.begin(), of_program.end());
  fingerprint.insert(fingerprint.end(), start.later.begin(), start.later.end());
  state.random = next_random;
  state.report = empty_report(1, program.metric_names());
}

bool Training::is_over() const {
  if (state.unmeasured == Unmeasured::kEpoch) return false;
  return state.stopped_early || state.epochs >= experiment.trainer.epochs || has_converged();
}

bool Training::has_converged() const {
  return program.method() && program.method()->status() != BatchStatus::kRunning && state.batch == 0;
}

bool Training::is_time_spent(double more) const {
  const double limit = experiment.trainer.max_seconds;
  return limit > 0 && training_seconds({}, state) + more >= limit;
}

static NamedArrays arrays_of(const NamedState& state) {
  NamedArrays out;
  for (const auto& [name, variable] : state) out.emplace_back(name, variable.get_value(true).on_host());
  return out;
}

NamedArrays Training::weight_arrays() const {
  return arrays_of(program.weights());
}
NamedArrays Training::step_arrays() const {
  return arrays_of(program.step_state());
}

NamedState Training::kept_state() const {
  NamedState out = program.step_state();
  for (const auto& entry : program.schedules().state()) out.push_back(entry);
  return out;
}

std::vector<PhaseHistory> Training::histories() const {
  std::vector<PhaseHistory> out = start.before;
  out.push_back({phase, state.history, program.metric_names(), state.earlier});
  return out;
}

void Training::begin_next_epoch() {
  state.report = empty_report(++state.epochs + 1, program.metric_names());
  state.batch = 0;
  state.loss_sum = 0;
  state.random = next_random;
}

}  // namespace thtrain
