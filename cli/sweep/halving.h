// Successive halving of the runs of a sweep (K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and
// hyperparameter optimization", AISTATS 2016): all runs train for a few epochs, the better half of them goes on to
// twice as many, and so on, until one is left or the rounds are as long as the experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/sweep/results.h"

namespace thtrain {

class Halving {
 public:
  /// `most_epochs` is the largest trainer.epochs of the runs. UserError where no round would end before it.
  Halving(int64_t first_epochs, int64_t most_epochs);

  /// Ends the rounds in which no run has anything left to do: the worse half of a round is kDropped, ties going to the
  /// earlier run. Of the round that goes on, `until` is what its runs train to, and those that have so many epochs are
  /// kPaused, the others kWaiting, unless they are over or have failed. Follows from the folders alone, so that it says
  /// the same in a sweep that is resumed. Reads metrics.jsonl of all runs.
  void advance(std::vector<SweepRun>& runs) const;

 private:
  int64_t first_epochs_, most_epochs_;
};

}  // namespace thtrain
