#include "trainers/run/evaluation.h"

#include "compiler/runtime/bad_value_source.h"

namespace thtrain {

using TestAt = TrainerConfig::TestAt;

// False where the user asked to stop meanwhile.
bool RunEvaluation::measuring(const std::function<void()>& measure) {
  try {
    checkpoints_.keeping_state(measure);
    return true;
  } catch (const BadValueError& error) {
    checkpoints_.fail_guarded(error, str("measured after step ", training_.state.step));
  } catch (const MeasurementStopped&) {
    return false;
  }
}

// ---- after a step --------------------------------------------------------------------------------------------------

// The last minibatch of the run ends it by itself.
bool RunEvaluation::ends_by_time() const {
  const TrainerConfig& trainer = training_.experiment.trainer;
  const RunState& state = training_.state;
  if (trainer.max_seconds == 0) return false;
  const bool is_last = state.batch == training_.program.batches() && state.epochs + 1 >= trainer.epochs;
  if (training_.has_ranks()) return !is_last && training_.program.sharded()->agreed().end;
  return !is_last && training_.is_time_spent(clock_.seconds());
}

bool RunEvaluation::after_step() {
  RunState& state = training_.state;
  const int64_t step = state.step - 1;
  const bool ends = ends_by_time();
  if (training_.monitor.validates_after(step) || ends) {
    if (!compilation_.await_measurements() || !measuring([&] { validate(step); })) return false;
  }
  if (training_.monitor.ends_after(step))
    state.stopped_early = true;
  else if (ends)
    state.stopped_early = state.out_of_time = true;
  state.unmeasured = Unmeasured::kNothing;
  return true;
}

void RunEvaluation::validate(int64_t step) {
  TrainingProgram& program = training_.program;
  const TestAt at = training_.experiment.trainer.test_at;
  std::optional<MetricValues> found = program.measure_valid(), test;
  if (!found) return;
  const bool tests = training_.monitor.is_best(found->error) && (at == TestAt::kBest || at == TestAt::kEpoch);
  if (tests) test = program.measure_test();
  RunState& state = training_.state;
  EpochReport& report = state.report;
  report.valid_error = found->error;
  report.valid_loss = found->loss;
  for (size_t i = 0; i < report.others.size(); ++i) report.others[i].valid = found->others[i];
  program.schedules().observe(found->error, program.metric_names()[0].larger_is_better);
  if (!training_.monitor.record(step, state.epochs + 1, found->error)) return;
  report.best = true;
  training_.best_is_written = false;
  training_.best = program.measured_weights();
  state.best_test_error.reset();
  if (!tests) return;
  take_test(test, step);
  state.best_test_error = report.test_error;
}

void RunEvaluation::take_test(const std::optional<MetricValues>& found, int64_t step) {
  EpochReport& report = training_.state.report;
  report.test_error.reset();
  if (found) report.test_error = found->error;
  for (size_t i = 0; found && i < report.others.size(); ++i) report.others[i].test = found->others[i];
  last_test_step_ = step;
}

void RunEvaluation::end_where_time_is_spent() {
  RunState& state = training_.state;
  if (training_.is_over() || state.unmeasured == Unmeasured::kEpoch || state.step == 0 || !training_.is_time_spent())
    return;
  if (state.batch > 0)
    state.unmeasured = Unmeasured::kStep;  // it is measured, and ends then
  else
    state.stopped_early = state.out_of_time = true;
}

// ---- after an epoch, and at the end --------------------------------------------------------------------------------

bool RunEvaluation::after_epoch() {
  return compilation_.await_measurements() && measuring([&] {
           const int64_t step = training_.state.step - 1;
           EpochReport& report = training_.state.report;
           if (training_.experiment.trainer.test_at == TestAt::kEpoch && last_test_step_ != step)
             take_test(training_.program.measure_test(), step);
           if (std::optional<MetricValues> found = training_.program.measure_train()) {
             report.train_error = found->error;
             for (size_t i = 0; i < report.others.size(); ++i) report.others[i].train = found->others[i];
           }
         });
}

namespace {

/// Gives weights other values, and their own ones back.
class SwappedWeights {
 public:
  SwappedWeights(const TrainingProgram& program, const NamedArrays& values) : weights_(program.weights()) {
    for (size_t i = 0; const auto& [name, variable] : weights_) {
      own_.push_back(variable.get_value());
      if (!values.empty()) variable.set_value(values[i++].second);
    }
  }
  ~SwappedWeights() {
    for (size_t i = 0; i < own_.size(); ++i) weights_[i].second.set_value(own_[i]);
  }
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  NamedState weights_;
  std::vector<Tensor> own_;
};

}  // namespace

bool RunEvaluation::at_end() {
  const TestAt at = training_.experiment.trainer.test_at;
  const bool has_best = training_.monitor.has_best();
  if (at == TestAt::kNever || (at != TestAt::kEnd && has_best)) return true;
  if (training_.state.best_test_error && has_best) return true;
  if (!compilation_.await_measurements()) return false;
  std::optional<MetricValues> found;
  const bool is_measured = measuring([&] {
    const NamedArrays& best = training_.best;
    const SwappedWeights scope(training_.program, best);
    found = best.empty() ? training_.program.measure_test() : training_.program.measure_test_of_weights();
  });
  if (!is_measured) return false;
  training_.state.best_test_error.reset();
  if (found) training_.state.best_test_error = found->error;
  return true;
}

}  // namespace thtrain
