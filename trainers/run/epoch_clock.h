// The time of an epoch, as its report and trainer.max_seconds count it.
#pragma once

#include <chrono>

#include "reports/history.h"

namespace thtrain {

using SteadyTime = std::chrono::steady_clock::time_point;

inline double seconds_between(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double>(to - from).count();
}

class EpochClock {
 public:
  using Clock = std::chrono::steady_clock;

  void begin() { began_ = Clock::now(); }
  /// Since begin(), or the last add_to().
  double seconds() const { return seconds_between(began_, Clock::now()); }
  /// Adds them to the epoch's, and begins to count again.
  void add_to(EpochReport& report) {
    const SteadyTime now = Clock::now();
    report.seconds += seconds_between(began_, now);
    began_ = now;
  }

  /// The time while it exists is not counted: waiting for compilers.
  class Pause {
   public:
    explicit Pause(EpochClock& clock) : clock_(clock) {}
    ~Pause() { clock_.began_ += Clock::now() - paused_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    EpochClock& clock_;
    SteadyTime paused_ = Clock::now();
  };

 private:
  SteadyTime began_ = Clock::now();
};

}  // namespace thtrain
