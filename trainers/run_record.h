// The result of a run , read from its folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/history.h"
#include "trainers/run_end.h"

namespace thtrain {

/// Of a run in phases, `best`, `test` and the epochs are those of the last phase that was begun.
struct RunRecord {
  std::string folder;                          // as it was named
  std::string config;                          // the experiment's file without folder and ending: "mlp_digits"
  std::string config_file;                     // as the user named it
  std::vector<std::string> command_line = {};  // that began the run
  MetricName metric = {};                      // that the run goes by
  std::string phase = {};                      // "" without phases
  std::optional<double> best = {};             // validation value of the metric; none before the first
  int64_t best_epoch = 0;                      // of that; 0 where there is none
  std::optional<double> test = {};             // of the model with the best validation value (trainer.test_at)
  std::optional<double> train_loss = {};       // of the last epoch
  int64_t epochs = 0;                          // finished; while a run goes on, those that metrics.jsonl has
  double seconds = 0;                          // of training, in all phases and processes
  int64_t started = 0;                         // seconds since 1970
  std::optional<int64_t> ended = {};           // of the last process; of a run that was killed, its last file
  RunEnd end = RunEnd::kUnfinished;
  std::string why = {};  // the error that ended it
  std::string trouble =
      {};  // what is wrong with its files, for people: "metrics.jsonl is missing"; "" where nothing is
};

/// Reads run.json, metrics.jsonl and the numbers of checkpoint.npz; another process may be at work in the folder. What
/// metrics.jsonl has behind the checkpoint counts too: a resumption repeats those epochs. A run of an earlier version,
/// whose run.json does not say how it ended, is judged by its checkpoint. UserError, which names the file: the folder
/// is missing or no run folder, or one of these files is damaged.
RunRecord read_run(const std::string& folder);

/// The folders below `root` at any depth that hold a config.toml or a run.json, in the order of their names; `root`
/// itself where it is one. Nothing is looked for in run folders, in folders whose name begins with a point, or behind
/// links. UserError where `root` is no folder or cannot be read.
std::vector<std::string> run_folders(const std::string& root);

/// Which of two values of a metric is the better one? NaN is the worst.
bool is_better(const MetricName& metric, double a, double b);

}  // namespace thtrain
