// The results of the runs of a sweep: lines, the table and sweep.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/points.h"
#include "trainers/run_record.h"

namespace thtrain {

/// One run of a sweep.
struct SweepRun {
  // Of a round of --halving (cli/sweep/halving.h): kPaused waits for the others, kDropped does not go on.
  enum class State { kWaiting, kRunning, kPaused, kDone, kFailed, kDropped };
  int64_t point = 0;
  std::string name = {}, folder = {};
  State state = State::kWaiting;
  int64_t until = 0;                     // epochs that it is to have; 0: all
  std::optional<RunRecord> record = {};  // none before its folder is there
  int code = 0;                          // of kFailed: the exit code of its process, 128 + a signal's number
  std::string message = {};              // of kFailed: why
};

/// Reads the run's folder, where there is one: `record`, and `state` where the run is over, its loss was not finite, or
/// no process of the sweep can go on with what is there: files that cannot be read, a run.json or a checkpoint that
/// is gone, something that is no run, or a run that was begun with other values than those of the point (of the folder
/// of another run: a copy, or a link to it). A folder that another process writes to is taken as it is.
void read_record(SweepRun& run, const SweepPoints& points);
/// The run has failed by this error: `state`, `code` and `message`.
void fail(SweepRun& run, const UserError& error);

/// "finished", "not finite", "failed", "ended by signal 9", "not begun", "dropped"; without the message.
std::string end_text(const SweepRun& run);
/// "validation error 2.700000 % (epoch 29)"; "" where nothing was measured.
std::string best_text(const SweepRun& run);

/// The runs by their best validation value, the best one first, those of one metric together; then, in the order of
/// the points, those that have none.
std::vector<const SweepRun*> sorted_runs(const std::vector<SweepRun>& runs);
/// The metric that all runs go by; none where they differ, or none is known yet.
std::optional<MetricName> common_metric(const std::vector<SweepRun>& runs);
/// A row for each run, sorted, below a line of titles.
std::string results_table(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// The same as cells, the titles first; rows in the order of sorted_runs().
std::vector<std::vector<std::string>> results_rows(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// sweep.csv: a line of titles, then a row for each run in the order of the points. Columns: run, each swept key,
/// metric, best, best_epoch, test, epochs, seconds, end, message.
std::string results_csv(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// The same as one JSON array, sorted as the table.
std::string results_json(const SweepPoints& points, const std::vector<SweepRun>& runs);

}  // namespace thtrain
