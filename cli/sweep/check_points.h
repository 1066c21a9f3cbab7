// All runs of a sweep, looked at before the first one begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sweep/points.h"

namespace thtrain {

/// What the experiments of a sweep say, point by point where they differ.
struct CheckedSweep {
  std::string root;               // output.root of the first one
  std::vector<int64_t> threads;   // compiler.threads
  std::vector<int64_t> epochs;    // at most, of all phases
  std::string hash;               // of all experiments with their defaults
  std::vector<std::string> data;  // each part of the data once: its files, a colon, and what it is (PhaseData::Facts)
};

/// Reads the experiment of every point. Then, for each value of each list, finds the data and builds the model of the
/// first point that has it, without native code; a point that differs from one of those in its seed alone is not built
/// again. Doubts about the data of the first point are printed on standard error. UserError with every mistake, as
/// `thtrain train` tells it, with its place on the sweep's command line; also where two points are one experiment.
CheckedSweep check_points(const std::string& config, const SweepPoints& points);

}  // namespace thtrain
