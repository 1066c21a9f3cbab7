// All runs of a sweep, looked at before the first one begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sweep/points.h"

namespace thtrain {

/// What the experiments of a sweep say, point by point where they differ.
struct CheckedSweep {
  std::string root;              // output.root of the first one
  std::vector<int64_t> threads;  // compiler.threads
  std::vector<int64_t> epochs;   // at most, of all phases
  bool has_phases = false;       // one of them
  std::string hash;              // of all experiments with their defaults
  /// Each part of the data once, and behind them each file of first weights: the files, a colon, and what it is.
  std::vector<std::string> files;
};

/// Reads the experiment of every point. Then finds the data (and the first weights) and builds the model, without
/// native code: for each value of each list, with the first values of the others, and for each combination of values
/// that may contradict each other. Of keys that cannot (`seed`, `output.*`, learning rate, momentum, weight decay,
/// epochs, `loss.l1` and `loss.l2`) the first value is taken there. Data is read once for all combinations that share
/// it. Doubts about the data of the first point are printed on standard error, and on a terminal how far it is, unless
/// `quiet`. UserError with every mistake, as `thtrain train` tells it, with its position on the sweep's command line;
/// also where two points are one experiment.
CheckedSweep check_points(const std::string& config, const SweepPoints& points, bool quiet = false);

}  // namespace thtrain
