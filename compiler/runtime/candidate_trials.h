// Times candidates of one computation: each in a program of one node, compiled with that choice.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/candidates.h"
#include "compiler/runtime/tuning_table.h"

namespace thtrain {

struct CandidateTrial {
  std::string candidate, version;
  double seconds = 0;  // of one run, in the fastest turn
  double flops = 0;    // of one run, by the cost of its op; 0 where that has none
  double load = 0;     // Measured::load
};

/// Times the candidates in turns, so that a busy moment of the machine hits all of them, on `threads` threads. One that
/// is three times slower than the fastest after the first turn gets no other, and has the time of that turn. Those
/// whose program fails are left out. UserError where no compiler is found and the cache does not have the programs.
std::vector<CandidateTrial> time_candidates(const kernel::ChoiceKey& key, const std::vector<Candidate>& candidates,
                                            int threads);

/// The trials as the tuner remembers them.
TuningTable tuning_of(const kernel::ChoiceKey& key, const std::vector<CandidateTrial>& trials);

}  // namespace thtrain
