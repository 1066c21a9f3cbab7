// The functions of a run that other threads compile while it trains.
#pragma once

#include "trainers/run/checkpoints.h"

namespace thtrain {

/// A compiler that fails or is stopped after the first step leaves a checkpoint of the step that the run has reached.
class RunCompilation {
 public:
  RunCompilation(Training& training, const RunContext& context, EpochClock& clock, RunCheckpoints& checkpoints);

  /// Before a step: takes what is compiled by now, since the step would do so by itself, and throw what its compiler
  /// threw. False where the user asked to stop. The first step of a process has nothing to lose.
  bool before_step();
  /// After a step: notes the one from which on native code runs, where the reference began.
  void after_step();
  /// After the first step, which is not to wait for their passes: begins the functions that measure.
  void begin_measurements();
  /// Waits for the functions that measure. False where the user asked to stop meanwhile.
  bool await_measurements();
  /// The step from which on native code ran, counted from 1, where the reference trained before.
  const std::optional<int64_t>& native_from_step() const { return native_from_step_; }

 private:
  Training& training_;
  const RunContext& context_;
  EpochClock& clock_;
  RunCheckpoints& checkpoints_;
  bool waits_for_native_;          // the reference trains until the compiler is done
  bool is_compiling_ = true;       // other threads may be at work
  bool has_measurements_ = false;  // the functions that measure are begun
  std::optional<int64_t> native_from_step_;
};

}  // namespace thtrain
