// `thtrain train`, `thtrain resume` and `thtrain train --folds`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace thtrain {

struct TrainArguments {
  ExperimentArguments experiment;  // of `resume` `config` is not set
  std::string run_dir = {};        // "": a new one in output.root
  bool resume = false;
  int64_t until_epoch = 0;  // TrainOptions::until_epoch
  int64_t folds = 0;        // 0: one run
  bool dry_run = false;     // run_check() instead
  bool json = false, quiet = false, verbose = false, profile = false;
  bool allow_different_bits = false, accept_edits = false;
  std::vector<std::string> command_line = {};     // for run.json
  std::chrono::steady_clock::time_point started;  // of the process
};
/// Options that a run takes, whether it begins or goes on.
void add_run_flags(CLI::App& command, TrainArguments& into);
/// Without `config` the experiment is the run folder's.
int run_train(const TrainArguments& arguments);
/// A run in a subfolder for each of `folds` parts of the training examples (data.folds, data.fold), and the mean and
/// the standard deviation of their best validation errors.
int train_folds(const TrainArguments& arguments);

}  // namespace thtrain
