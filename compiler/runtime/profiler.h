// Records what Function::profile() gives: a clock read before and after each step.
#pragma once

#include <chrono>

#include "compiler/runtime/function_state.h"
#include "compiler/runtime/profile.h"

namespace thtrain {

class Profiler {
 public:
  explicit Profiler(const Function::State& state);

  void begin_call();
  void end_call();
  /// ThContext::probe of a profiled program.
  static void probe(ThContext* context, int step, int after, void* const* buffers, const long* lengths);

  /// The lengths are those of the last call.
  Profile profile(const Function::State& state) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Sum {
    int64_t calls = 0;
    double seconds = 0;
  };

  std::vector<Sum> sums_;
  std::vector<StepTime> time_line_;
  Clock::time_point first_, call_began_, step_began_;
  int64_t calls_ = 0;
  double seconds_ = 0;
};

}  // namespace thtrain
