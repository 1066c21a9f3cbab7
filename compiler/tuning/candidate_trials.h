// Times candidates of one computation: each in a program of one node, compiled with that choice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ops/candidates.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/refusals.h"
#include "compiler/tuning/tuning_table.h"

namespace thtrain {

struct CandidateTrial {
  std::string candidate, version;
  double seconds = 0;  // of one run, in the fastest round
  double flops = 0;    // of one run, by the cost of its op; 0 where that has none
  double load = 0;     // Measured::load
  /// Of a shared object's candidate (user_candidates.h): why it must not be taken; of one on a device: what it or its
  /// library said where the program failed. It has no time then.
  std::string refusal = {};
};

/// Times the candidates in rounds, so that a busy moment of the machine hits all of them, on `threads` threads. One
/// that is three times slower than the fastest after the first round gets no other, and has the time of that round.
/// Those whose program fails on a processor are left out. UserError where no compiler is found and the cache does not
/// have the programs. Candidates of shared objects are timed in processes of their own, one after the other
/// (trial_process.h); those that cannot be tried are left out, with a warning.
std::vector<CandidateTrial> time_candidates(const kernel::ChoiceKey& key, const std::vector<Candidate>& candidates,
                                            int threads, const kernel::Target& target = machine());

/// What is said where a candidate of a shared object is not taken (refusals.h).
Refusal refusal_of(const Candidate& candidate, const kernel::ChoiceKey& key, std::string reason);

/// What is waited for while candidates are timed.
struct TrialProgress {
  kernel::ChoiceKey key;
  std::string doing;      // "compiling", "timing", "trying"; empty: the key is done
  std::string candidate;  // that was begun last
  double part = 0;        // of the key's work, about
};
/// `observer` is called as the work goes on, never by two threads at once; null: nobody is.
void observe_trials(std::function<void(const TrialProgress&)> observer);
bool are_trials_observed();

/// The trials as the tuner remembers them.
TuningTable tuning_of(const kernel::ChoiceKey& key, const std::vector<CandidateTrial>& trials);

}  // namespace thtrain
