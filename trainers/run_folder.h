// The folder that a run owns, and what is in it. Who writes to it has its lock (trainers/run_lock.h).
//
//   config.toml      the experiment with every default written out
//   run.json         command line, versions, seed, times, how the run ended (trainers/run_end.h), and what decides bits
//                    (trainers/fingerprint.h)
//   table.json       columns and names of classes, where the data is a table (trainers/table_facts.h)
//   metrics.jsonl    a line for each epoch
//   checkpoint.npz   everything that a resumption needs (trainers/checkpoint.h)
//   best.npz         the weights with the best validation error so far; best_pretrain.npz: of an earlier phase
//   checkpoints/     the checkpoints before, where trainer.keep_checkpoints is above 1 (trainers/kept_checkpoints.h)
//   plots/           learning_curves.png and .svg, and the pictures that [output] names
//   events.out.tfevents.*  for TensorBoard, where output.tensorboard is true: one of each process that trained
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/history.h"
#include "trainers/experiment.h"
#include "trainers/fingerprint.h"
#include "trainers/run_end.h"
#include "trainers/run_lock.h"

namespace thtrain {

/// What describes a run besides its experiment.
struct RunFacts {
  std::vector<std::string> command_line = {};
  std::string config_file = {};    // the experiment's file as the user named it
  std::string config_folder = {};  // absolute: where data files are looked for, also by a resumption
  /// What became different when the run was resumed, and was allowed: "step 20: trainer.learning_rate: 0.1 then, 0.2
  /// now"
  std::vector<std::string> changes = {};
  std::string target = {};  // kernel::Target::text() of what the run's code was made for; empty before its first step
  /// When the folder was made; runs of earlier versions do not say it.
  std::optional<int64_t> started = {};  // seconds since 1970
  /// The one that the run goes by; none before its first checkpoint.
  std::optional<MetricName> metric = {};
  /// How the last process that trained left it, and when: RunEnd::kRunning before it did. Runs of earlier versions have
  /// none.
  std::optional<RunEnd> end = {};
  std::optional<int64_t> ended = {};  // seconds since 1970
  std::string why = {};               // the error that ended it
};

class RunFolder {
 public:
  /// Makes the folder and its parents, writes config.toml (data paths made absolute) and run.json, and locks it;
  /// removes what killed processes left half made next to it. An empty folder (also one that a link names, a mount
  /// point or the working folder) is filled. UserError for what checked_experiment() refuses, and if it exists and is
  /// not empty, cannot be made, or has to hold a path that is not UTF-8; nothing is left behind then.
  static RunFolder create(const std::string& path, const Experiment& experiment, RunFacts facts = {});
  /// Why create() would refuse this path, whatever the experiment; nothing where it would not: there is nothing yet, an
  /// empty folder, or what a run left that was killed before its first checkpoint. Changes nothing.
  static std::optional<UserError> why_none_begins(const std::string& path);
  /// The folder of an earlier run, to read from. UserError if it is missing, may not be read, holds no config.toml, or
  /// was written by a newer thtrain.
  static RunFolder open(const std::string& path);
  /// The same for who needs no more than experiment and weights: where run.json is damaged or may not be read,
  /// `trouble` says so, and what it holds is not known. UserError as open() but for that.
  static RunFolder open_without_facts(const std::string& path, std::string& trouble);

  /// Before writing to a folder that was opened: takes the lock unless this object has it, and removes what killed
  /// processes left in and next to the folder. UserError where another process has it.
  void lock();
  void unlock() { lock_.reset(); }
  /// Of a folder that is locked: does its path still lead to it? Else it was removed, renamed or replaced.
  bool is_in_place() const { return !lock_ || lock_->is_at(path_); }
  /// UserError where it does not.
  void require_in_place() const;
  /// That, for a file that is written by its path (AtomicFile): it comes into no other folder that took the place of
  /// this one meanwhile.
  std::function<void()> in_place_check() const {
    return [this] { require_in_place(); };
  }

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
  /// UserError where it has one: `caller` begins a run.
  void require_new(std::string_view caller) const;
  /// Did a process write a checkpoint here, whether it is still there or not?
  bool had_checkpoint() const;
  /// UserError where a process wrote one, and it is gone.
  void require_checkpoint() const;
  /// best.npz where there is one, else checkpoint.npz. UserError where there is neither.
  std::string weights() const;

  const RunFacts& facts() const { return facts_; }
  void add_change(const std::string& change) { facts_.changes.push_back(change); }
  void set_metric(const MetricName& metric) { facts_.metric = metric; }
  /// Writes run.json: the facts, thtrain's version, the seed, and what decides bits; that, and the target of the code,
  /// from the first checkpoint on. It says that the run is running.
  void write_facts(int64_t seed, const Fingerprint& fingerprint);
  /// Writes into run.json how the run ended, now. Does nothing where this object did not write that it is running: what
  /// ended it came before its first step. UserError where it cannot be written, or require_in_place() throws.
  void write_end(RunEnd end, const std::string& why = "");

 private:
  RunFolder(std::string path, RunFacts facts) : path_(std::move(path)), facts_(std::move(facts)) {}
  static RunFolder opened(const std::string& path);
  void take_facts(std::map<std::string, std::string> facts);
  static RunFolder create_in(const std::string& path, const std::string& config, int64_t seed, RunFacts facts);
  void write_facts() const;

  std::string path_;
  RunFacts facts_;
  int64_t seed_ = 0;
  Fingerprint fingerprint_;       // as write_facts() got it
  bool is_running_ = false;       // as run.json says by write_facts()
  bool has_fingerprint_ = false;  // in run.json
  std::shared_ptr<RunLock> lock_;
};

/// A new name in `root` for a run of the config file at `config_path`: "runs/mlp_digits-3", the lowest free number.
std::string new_run_path(const std::string& root, const std::string& config_path);

}  // namespace thtrain
