// What a user sees while candidates are timed: a bar on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "compiler/tuning/candidate_trials.h"

namespace thtrain {

/// How far the timing of all choices is.
struct TuningLocation {
  size_t choice = 1;   // that is timed, counted from 1
  size_t choices = 0;  // 0: they are found as the program is compiled
  double seconds = 0;  // since the first began; where choices is 0, since this one did
  double part = 0;     // of this choice's work
};

/// "tuning 3/12 [=====          ] 31 %  12 s left  compiling rows 6x4 for conv float32 b20 i1x28x28 k2x5x5", at most
/// `width` characters.
std::string tuning_text(const TuningLocation& location, const TrialProgress& progress, int width);

/// While it lives, and standard error is a terminal, the bar is there while candidates are timed.
class TuningProgress {
 public:
  /// `choices`: how many there are, 0 where that is not known.
  explicit TuningProgress(size_t choices, bool quiet = false);
  ~TuningProgress();
  TuningProgress(const TuningProgress&) = delete;
  TuningProgress& operator=(const TuningProgress&) = delete;

  bool is_shown() const { return is_shown_; }

 private:
  void draw(const TrialProgress& progress);

  bool is_shown_;
  TuningLocation location_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace thtrain
