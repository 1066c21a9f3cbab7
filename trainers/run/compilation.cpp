#include "trainers/run/compilation.h"

#include <utility>

#include "compiler/host/cache.h"

namespace thtrain {

RunCompilation::RunCompilation(Training& training, const RunContext& context, EpochClock& clock,
                               RunCheckpoints& checkpoints)
    : training_(training),
      context_(context),
      clock_(clock),
      checkpoints_(checkpoints),
      waits_for_native_(training.program.is_compiling()) {
  if (waits_for_native_) training.fingerprint.emplace_back(kNativeEntry, "not at the beginning");
}

bool RunCompilation::before_step() {
  if (!is_compiling_ || !has_measurements_) return true;
  try {
    is_compiling_ = !training_.program.take_compiled();
  } catch (const Interrupted&) {
    return false;
  } catch (const Error&) {
    checkpoints_.save();
    throw;
  }
  return true;
}

void RunCompilation::after_step() {
  if (!waits_for_native_ || training_.program.is_compiling()) return;
  waits_for_native_ = false;
  const int64_t step = training_.state.step;
  native_from_step_ = step;
  *find_entry(training_.fingerprint, kNativeEntry) += str(", from step ", step, " on");
  context_.folder.write_facts(training_.experiment.seed, training_.fingerprint);
  context_.tell(str("native code from step ", step, " on: the bits of this run are its own"));
}

void RunCompilation::begin_measurements() {
  if (std::exchange(has_measurements_, true)) return;
  is_compiling_ = true;
  const EpochClock::Pause pause(clock_);
  try {
    training_.program.begin_errors();
  } catch (const Error&) {
    checkpoints_.save();
    throw;
  }
}

bool RunCompilation::await_measurements() {
  // Whether it waits is an accident of each rank.
  const bool waits = training_.program.is_compiling_errors() && !training_.has_ranks();
  const EpochClock::Pause pause(clock_);
  if (waits) checkpoints_.save();
  try {
    training_.program.await_errors();
  } catch (const Interrupted&) {
    return false;
  } catch (const Error&) {
    if (!waits && !training_.has_ranks()) checkpoints_.save();
    throw;
  }
  return true;
}

}  // namespace thtrain
