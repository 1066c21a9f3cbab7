// What a sweep is about to do with each of its runs.
#pragma once

#include <string>
#include <vector>

#include "cli/sweep/results.h"

namespace thtrain {

/// What the runs of a sweep are run with.
struct SweepPlan {
  std::string head;             // "sweep s"
  int jobs = 1;                 // runs at once
  std::vector<int> threads;     // of each point
  std::vector<int64_t> epochs;  // of each point, at most, of all phases
};

/// "begins", "goes on", "waits for the round", "is waited for", "nothing to do", "is not tried again", "cannot go on".
std::string next_text(const SweepRun& run);

/// The head with the number of runs, and a line for each of them (of more than 100 the first 100): its number, its
/// name, its values where the name is a number, and how it ended where it was begun.
std::string list_text(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs);
/// The same with what is done with each run, and how many there are of each: `--dry-run` of a sweep that was begun.
std::string plan_text(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs);
/// An array with an object for each run in the order of the points: `name`, `run_dir` where the sweep has a folder,
/// `values`, `threads`, `end`, `next` (next_text()), and of a run that failed `message`.
std::string plan_json(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs);

}  // namespace thtrain
