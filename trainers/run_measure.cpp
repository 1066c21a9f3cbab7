// What a run measures, and where that ends in between.
#include "compiler/runtime/bad_value_source.h"
#include "trainers/run.h"

namespace thtrain {

// Where data cannot be read, the run ends with a checkpoint of the steps that are done: whoever mends the data goes on
// from there.
void Run::keeping_state(const std::function<void()>& read) {
  try {
    read();
  } catch (const UserError&) {
    try {
      save_within_epoch();
    } catch (const Error&) {  // a file was changed: the checkpoint before stays
    }
    throw;
  }
}

// False where the user asked to stop meanwhile.
bool Run::measuring(const std::function<void()>& measure) {
  try {
    keeping_state(measure);
    return true;
  } catch (const BadValueError& error) {
    fail_guarded(error, str("measured after step ", state_.step));
  } catch (const MeasurementStopped&) {
    interrupted_ = true;
    return false;
  }
}

// What is measured after a minibatch, and what follows from it. False where the user asked to stop meanwhile: it is
// still to be done then.
bool Run::measure() {
  int64_t step = state_.step - 1;
  const bool ends = ends_by_time();
  if (monitor_.validates_after(step) || ends) {
    if (!await_errors() || !measuring([&] { validate(step); })) return false;
  }
  if (monitor_.ends_after(step))
    state_.stopped_early = true;
  else if (ends)
    state_.stopped_early = state_.out_of_time = true;
  state_.unmeasured = Unmeasured::kNothing;
  return true;
}

// Nothing is changed before all is measured: it may end in between.
void Run::validate(int64_t step) {
  using TestAt = TrainerConfig::TestAt;
  const TestAt at = experiment_.trainer.test_at;
  std::optional<MetricValues> found = program_.measure_valid(), test;
  if (!found) return;
  const bool tests = monitor_.is_best(found->error) && (at == TestAt::kBest || at == TestAt::kEpoch);
  if (tests) test = program_.measure_test();
  EpochReport& report = state_.report;
  report.valid_error = found->error;
  report.valid_loss = found->loss;
  for (size_t i = 0; i < report.others.size(); ++i) report.others[i].valid = found->others[i];
  program_.schedules().observe(found->error, program_.metric_names()[0].larger_is_better);
  if (!monitor_.record(step, state_.epochs + 1, found->error)) return;
  state_.report.best = true;
  best_is_written_ = false;
  best_ = program_.measured_weights();
  state_.best_test_error.reset();
  if (!tests) return;
  take_test(test, step);
  state_.best_test_error = report.test_error;
}

void Run::take_test(const std::optional<MetricValues>& found, int64_t step) {
  EpochReport& report = state_.report;
  report.test_error.reset();
  if (found) report.test_error = found->error;
  for (size_t i = 0; found && i < report.others.size(); ++i) report.others[i].test = found->others[i];
  last_test_step_ = step;
}

// What is measured at the end of an epoch. False where the user asked to stop meanwhile.
bool Run::measure_epoch() {
  return measuring([&] {
    if (experiment_.trainer.test_at == TrainerConfig::TestAt::kEpoch && last_test_step_ != state_.step - 1)
      take_test(program_.measure_test(), state_.step - 1);
    if (std::optional<MetricValues> found = program_.measure_train()) {
      state_.report.train_error = found->error;
      for (size_t i = 0; i < state_.report.others.size(); ++i) state_.report.others[i].train = found->others[i];
    }
  });
}

void Run::measure_test_of_best() {
  using TestAt = TrainerConfig::TestAt;
  TestAt at = experiment_.trainer.test_at;
  if (at == TestAt::kNever || (at != TestAt::kEnd && monitor_.has_best())) return;
  if (state_.best_test_error && monitor_.has_best()) return;
  if (!await_errors()) return;
  NamedArrays last;
  for (const auto& [name, value] : weight_arrays()) last.emplace_back(name, value.copy());
  auto set = [&](const NamedArrays& values) {
    for (size_t i = 0; const auto& [name, variable] : program_.weights()) variable.set_value(values[i++].second);
  };
  std::optional<MetricValues> found;
  const bool is_measured = measuring([&] {
    struct Restore {
      const std::function<void()> run;
      ~Restore() { run(); }
    } restore{[&] { set(last); }};
    if (!best_.empty()) set(best_);
    found = best_.empty() ? program_.measure_test() : program_.measure_test_of_weights();
  });
  if (!is_measured) return;
  state_.best_test_error.reset();
  if (found) state_.best_test_error = found->error;
}

}  // namespace thtrain
