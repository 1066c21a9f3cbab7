// The folder of a sweep. Who leads the sweep has its lock (trainers/run_lock.h).
//
//   sweep.json   the command line, the experiment's file, the lists, the threads of a run, the names of the runs
//   sweep.csv    a row for each run (cli/sweep/results.h)
//   seeds.csv    where `seed` is swept: a row for each point of the other lists (cli/sweep/seeds.h)
//   logs/        what each run's processes printed
//   NAME/        the folder of a run, for each point
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/draws.h"
#include "compiler/base/str.h"
#include "trainers/run_lock.h"

namespace thtrain {

/// What sweep.json holds.
struct SweepFacts {
  std::vector<std::string> command_line = {};
  std::string config_file = {};  // as the user named it
  std::string config_path = {};  // absolute
  std::vector<std::string> words = {};
  int threads = 1;
  std::string hash = {};  // CheckedSweep::hash
  std::vector<std::string> runs = {};
  std::vector<std::string> data = {};  // CheckedSweep::data; empty in what an earlier version wrote
  SweepSearch search = {};
};

class SweepFolder {
 public:
  /// Makes the folder and its parents, writes sweep.json and locks it. UserError if there is something at `path`, or it
  /// cannot be made; nothing is left behind then.
  static SweepFolder create(const std::string& path, SweepFacts facts);
  /// The folder of an earlier sweep. UserError if it is missing, is none, sweep.json is damaged, or was
  /// written by a newer thtrain.
  static SweepFolder open(const std::string& path);
  /// Is there a sweep.json in this folder?
  static bool is_at(const std::string& path);

  /// Of a folder that was opened. UserError where another process has the lock.
  void lock();
  /// UserError where something else is at the path of the folder of the logs: no run can be started then.
  void check_logs() const;
  const std::string& path() const { return path_; }
  const SweepFacts& facts() const { return facts_; }
  std::string csv() const { return path_ + "/sweep.csv"; }
  std::string seeds_csv() const { return path_ + "/seeds.csv"; }
  std::string run(const std::string& name) const { return path_ + "/" + name; }
  std::string log(const std::string& name) const { return str(path_, "/logs/", name, ".log"); }

 private:
  SweepFolder(std::string path, SweepFacts facts) : path_(std::move(path)), facts_(std::move(facts)) {}
  std::string path_;
  SweepFacts facts_;
  std::shared_ptr<RunLock> lock_;
};

/// "runs/lab-sweep-" for lab.toml and the root "runs".
std::string sweep_path_start(const std::string& root, const std::string& config);
/// The sweep with the largest number among those whose path begins so.
std::optional<std::string> last_sweep(const std::string& path_start);
/// A path for a new one: the number after the largest one.
std::string new_sweep_path(const std::string& path_start);

}  // namespace thtrain
