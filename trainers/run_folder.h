// The folder that a run owns, and what stands in it.
//
//   config.toml      the experiment with every default written out
//   run.json         command line, versions, seed, and what decides bits (trainers/fingerprint.h)
//   table.json       columns and names of classes, where the data is a table (trainers/table_facts.h)
//   metrics.jsonl    a line for each epoch
//   checkpoint.npz   everything that a resumption needs (trainers/checkpoint.h)
//   best.npz         the weights with the best validation error so far; best_pretrain.npz: of an earlier phase
//   checkpoints/     the checkpoints before, where trainer.keep_checkpoints is above 1 (trainers/kept_checkpoints.h)
//   plots/           learning_curves.png and .svg, and the pictures that [output] names
//   lock             while a process writes to the folder: its number (trainers/run_lock.h)
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainers/experiment.h"
#include "trainers/fingerprint.h"
#include "trainers/run_lock.h"

namespace thtrain {

/// What describes a run beside its experiment.
struct RunFacts {
  std::vector<std::string> command_line = {};
  std::string config_file = {};    // the experiment's file as the user named it
  std::string config_folder = {};  // absolute: where data files are looked for, also by a resumption
  /// What became different when the run was resumed, and was allowed: "step 20: trainer.learning_rate: 0.1 then, 0.2
  /// now"
  std::vector<std::string> changes = {};
  std::string target = {};  // kernel::Target::text() of what the run's code was made for; empty before its first step
};

class RunFolder {
 public:
  /// Makes the folder and its parents, writes config.toml (data paths made absolute) and run.json, and locks it;
  /// removes what killed processes left half made beside it. UserError if it exists and is not empty, cannot be made,
  /// or has to hold a path that is not UTF-8; nothing is left behind then.
  static RunFolder create(const std::string& path, const Experiment& experiment, RunFacts facts = {});
  /// The folder of an earlier run, to read from. UserError if it is missing, may not be read, or holds no config.toml.
  static RunFolder open(const std::string& path);

  /// Before writing to a folder that was opened: takes the lock unless this object has it, and removes what killed
  /// processes left in and beside the folder. UserError where another process has it.
  void lock();
  void unlock() { lock_.reset(); }

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string config() const { return file("config.toml"); }
  std::string facts_file() const { return file("run.json"); }
  std::string table() const { return file("table.json"); }
  std::string metrics() const { return file("metrics.jsonl"); }
  std::string checkpoint() const { return file("checkpoint.npz"); }
  std::string best() const { return file("best.npz"); }
  /// Of a phase that is not the last one: best_pretrain.npz.
  std::string best_of(const std::string& phase) const { return file(str("best_", phase, ".npz")); }
  /// The folder of earlier checkpoints (trainers/kept_checkpoints.h).
  std::string kept_checkpoints() const { return file("checkpoints"); }
  /// Without its ending: there are a PNG and an SVG of it.
  std::string plot() const { return file("plots/learning_curves"); }
  bool has_checkpoint() const;
  /// Did a process write a checkpoint here, whether it is still there or not?
  bool had_checkpoint() const;
  /// best.npz where there is one, else checkpoint.npz. UserError where there is neither.
  std::string weights() const;

  const RunFacts& facts() const { return facts_; }
  void add_change(const std::string& change) { facts_.changes.push_back(change); }
  /// Writes run.json: the facts, thtrain's version, the seed, and what decides bits; that, and the target of the code,
  /// from the first checkpoint on.
  void write_facts(int64_t seed, const Fingerprint& fingerprint);

 private:
  RunFolder(std::string path, RunFacts facts) : path_(std::move(path)), facts_(std::move(facts)) {}
  std::string path_;
  RunFacts facts_;
  bool has_fingerprint_ = false;  // in run.json
  std::shared_ptr<RunLock> lock_;
};

/// A new name in `root` for a run of the config file at `config_path`: "runs/mlp_digits-3", the lowest free number.
std::string new_run_path(const std::string& root, const std::string& config_path);

}  // namespace thtrain
