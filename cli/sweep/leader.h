// Leads the processes of a sweep from the first run to the last.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/folder.h"
#include "cli/sweep/halving.h"
#include "cli/sweep/processes.h"
#include "cli/sweep/results.h"
#include "cli/sweep/signal_watch.h"

namespace thtrain {

struct LeadOptions {
  std::string config;                   // the experiment's file, as runs are given it; absolute for a launcher
  int jobs = 1;                         // runs at once
  std::vector<int> threads;             // of each point
  std::vector<int64_t> epochs;          // of each point, at most: what the estimate of the rest counts by
  std::vector<std::string> launch;      // words that the command of each run begins with
  std::optional<Halving> halving = {};  // what lets runs wait for each other
  bool quiet = false;                   // no progress line, and none for each run
  bool lines = true;                    // a line on standard output for each run that ends
};

/// "12 runs: 5 finished, 2 running, 1 failed, about 3 min 12 s left", cut to `width` characters; negative seconds: not
/// known.
std::string progress_text(const std::vector<SweepRun>& runs, double seconds_left, int width);

class SweepLeader {
 public:
  /// `folder` is locked. `runs` are those of `points`, as read_record() found them; those that wait are run.
  SweepLeader(const SweepFolder& folder, const SweepPoints& points, std::vector<SweepRun>& runs, LeadOptions options);
  /// Removes the progress line.
  ~SweepLeader();
  SweepLeader(const SweepLeader&) = delete;
  SweepLeader& operator=(const SweepLeader&) = delete;

  /// Starts what waits, goes on with what was stopped, and returns when all have ended, with 0; after a signal, when
  /// those that ran have ended, with 128 + its number. The first signal is handed on, and runs end with a checkpoint;
  /// the second one ends them at once. A run that fails is told, and the others go on; so is one that cannot be started
  /// (its log cannot be written, or the system starts no process). sweep.csv and seeds.csv are kept up to date.
  /// UserError where a launcher ends with 0 before the first run has begun: it would do so of all.
  int lead();
  /// Behind lead(): are these files the results of the runs? Where one cannot be written, one warning on standard error
  /// says why, at the end.
  bool has_csv() const { return !csv_is_old_; }

 private:
  using Clock = std::chrono::steady_clock;

  void take_ended();
  void fail_by_launcher(SweepRun& run) const;
  void begin_round();
  void hand_on_signals();
  void start_waiting();
  bool start(SweepRun& run);
  std::vector<std::string> arguments_of(const SweepRun& run) const;
  void tell(const SweepRun& run);
  void print_line(const std::string& text);
  void write_csv();
  void try_to_write_csv(bool is_last);
  double done() const;
  void draw();
  void clear_bar();
  bool is_over() const;

  const SweepFolder& folder_;
  const SweepPoints& points_;
  std::vector<SweepRun>& runs_;
  LeadOptions options_;
  SignalWatch signals_;
  Processes processes_;
  Clock::time_point began_, csv_written_, stopped_;
  double done_before_ = 0;
  int handed_on_ = 0;
  bool csv_is_old_ = true, has_bar_, bar_shown_ = false;
  std::string waits_for_;  // a folder that another process writes to, which was told
};

}  // namespace thtrain
