// Everything that a run needs to go on with the same bits, in one .npz that NumPy reads.
//
//   hidden/W, ...             the weights, and what layers remember besides them
//   run.velocity/hidden/W     the optimizer's state; run.step, run.average/hidden/W, ... what else steps keep
//   run.schedule/plateau/best the state of a schedule
//   run.best/hidden/W         the weights with the best validation error
//   run.position              int64: finished epochs, minibatches of this epoch, minibatches in all, stopped early
//   run.random                uint8: the generator at the beginning of this epoch (RandomState::to_bytes)
//   run.monitor               float64: patience, best validation error (%), its epoch, the test error with it
//   run.epoch                 float64: sum of this epoch's losses, validation error, test error, best, seconds,
//                             validation loss, and of each other metric its validation and test value
//   run.unmeasured            int64, only where it is not 0: what is still to be measured; 1: all that is measured
//   after
//                             the last minibatch; 2: what is measured where an epoch ends
//   run.history               float64 [epochs, 9 + ...] of the last epochs; see reports/history.h
//   run.earlier               float64, only where there were others before these: their number, their seconds, the
//                             training loss of the first one, was one of them the best so far
//   run.out_of_time           int64, only where it is 1: trainer.max_seconds ended the run
//   run.phase                 int64, only of a run in phases: the phase, from 0; and of the phases before it
//   run.before/names          uint8: their names, a line each
//   run.before/0/history, ... float64,
//   run.before/0/earlier, ... float64, and
//   run.before/0/metrics      uint8: as run.history, run.earlier and run.metrics
//   run.metrics               uint8, only where they are others than the error: "error %" on a line for each metric
//   run.pins                  uint8: the text of trainers/fingerprint.h
//   run.config                uint8: the experiment that the run was trained with, as resolved_toml writes it
//
// NaN stands for an error that was not measured, 0 and 1 for no and yes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/random_state.h"
#include "reports/history.h"
#include "trainers/fingerprint.h"
#include "trainers/monitor.h"

namespace thtrain {

using NamedArrays = std::vector<std::pair<std::string, Tensor>>;

/// What a process that was asked to stop left to the one that resumes the run.
enum class Unmeasured {
  kNothing,
  kStep,   // what is measured after the last minibatch
  kEpoch,  // what is measured at the end of the epoch, which has no line in metrics.jsonl yet
};

/// The state of a run between two minibatches, but for its arrays.
struct RunState {
  int64_t epochs = 0;  // finished
  int64_t batch = 0;   // finished minibatches of the epoch after them
  int64_t step = 0;    // finished minibatches
  bool stopped_early = false;
  bool out_of_time = false;  // and therefore stopped_early
  Unmeasured unmeasured = Unmeasured::kNothing;
  RandomState random{0};  // at the beginning of this epoch
  Monitor::State monitor;
  std::optional<double> best_test_error;  // of the model with the best validation error, per cent
  // Of the epoch that is not finished:
  double loss_sum = 0;
  EpochReport report;
  std::vector<EpochReport> history;  // of the finished ones: those that are held
  EarlierEpochs earlier = {};        // before these

  /// Epochs that have a line in metrics.jsonl: the finished ones, and one that the run was stopped within.
  int64_t reported() const { return earlier.count + static_cast<int64_t>(history.size()); }
};

/// Seconds of training, validation included, in all processes: of the phases before, and of this one up to `state`.
/// What commands tell of a run's time is this.
double training_seconds(const std::vector<PhaseHistory>& before, const RunState& state);

struct Checkpoint {
  NamedArrays weights;
  NamedArrays optimizer;  // "velocity/hidden/W", "schedule/plateau/best"
  NamedArrays best;       // "hidden/W"; none before the first validation
  RunState state;
  Fingerprint fingerprint;
  std::string config = {};                // resolved_toml
  MetricNames metrics = {{}};             // which is better is not kept
  std::optional<int64_t> phase = {};      // from 0; none of a run without phases
  std::vector<PhaseHistory> before = {};  // the phases before it
};

/// Atomic: the file at `path` is the old one or the new one; `check` as of AtomicFile. UserError where it cannot be
/// written.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint, const std::function<void()>& check = {});
/// UserError: the file cannot be read, is damaged, is no checkpoint, or holds numbers that no run writes. Its weights
/// are not compared with anything yet: see check_checkpoint().
Checkpoint read_checkpoint(const std::string& path);
/// The same without the weights, those of the optimizer and the best ones, which are not read.
Checkpoint read_progress(const std::string& path);

}  // namespace thtrain
