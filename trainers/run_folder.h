// The folder that a run owns, and what stands in it.
//
//   config.toml      the experiment with every default written out
//   run.json         command line, versions, seed, and what decides bits (trainers/pins.h)
//   table.json       columns and names of classes, where the data is a table (trainers/table_facts.h)
//   metrics.jsonl    a line for each epoch
//   checkpoint.npz   everything that a resumption needs (trainers/checkpoint.h)
//   best.npz         the weights with the best validation error so far
//   plots/           learning_curves.png
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainers/experiment.h"
#include "trainers/pins.h"

namespace thtrain {

/// What describes a run beside its experiment.
struct RunFacts {
  std::vector<std::string> command_line = {};
  std::string config_file = {};    // the experiment's file as the user named it
  std::string config_folder = {};  // absolute: where data files are looked for, also by a resumption
};

class RunFolder {
 public:
  /// Makes the folder and its parents, and writes config.toml (data paths made absolute) and run.json. UserError if it
  /// exists and is not empty, or cannot be made; nothing is left behind then.
  static RunFolder create(const std::string& path, const Experiment& experiment, RunFacts facts = {});
  /// The folder of an earlier run. UserError if it is missing or holds no config.toml.
  static RunFolder open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string config() const { return file("config.toml"); }
  std::string facts_file() const { return file("run.json"); }
  std::string table() const { return file("table.json"); }
  std::string metrics() const { return file("metrics.jsonl"); }
  std::string checkpoint() const { return file("checkpoint.npz"); }
  std::string best() const { return file("best.npz"); }
  std::string plot() const { return file("plots/learning_curves.png"); }
  bool has_checkpoint() const;
  /// best.npz where there is one, else checkpoint.npz. UserError where there is neither.
  std::string weights() const;

  const RunFacts& facts() const { return facts_; }
  /// Writes run.json: the facts, thtrain's version, the seed, and what decides bits.
  void write_facts(int64_t seed, const Pins& pins) const;

 private:
  RunFolder(std::string path, RunFacts facts) : path_(std::move(path)), facts_(std::move(facts)) {}
  std::string path_;
  RunFacts facts_;
};

/// A new name in `root` for a run of the config file at `config_path`: "runs/mlp_digits-3", the lowest free number.
std::string new_run_path(const std::string& root, const std::string& config_path);

}  // namespace thtrain
