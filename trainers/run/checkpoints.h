// The checkpoints that a run writes, and what has to be in its folder with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainers/run/context.h"
#include "trainers/run/epoch_clock.h"
#include "trainers/run/training.h"

namespace thtrain {

class BadValueError;  // compiler/runtime/bad_value_source.h

class RunCheckpoints {
 public:
  RunCheckpoints(Training& training, const RunContext& context, EpochClock& clock)
      : training_(training), context_(context), clock_(clock), last_(training.start.last) {}

  /// trainer.checkpoint_seconds count from now on.
  void begin() { saved_ = EpochClock::Clock::now(); }
  /// The training was restored from the folder's checkpoint.
  void go_on();
  /// Of the schedules for the next step: what repeats steps needs them.
  void note_schedules();

  /// Writes one. Never a value that is not finite, nor one that was computed from a file that changed: NonFiniteLoss or
  /// UserError, and the checkpoint before stays.
  void save();
  /// Writes the one of the last save(), by the process that writes the folder.
  void write();
  /// With the time so far of an epoch that is begun.
  void save_within_epoch();
  /// By trainer.checkpoint_seconds.
  bool is_due() const;
  /// As trainer.checkpoint_epochs and trainer.checkpoint_seconds say.
  void save_if_due(bool epoch_finished);
  /// Calls `read`. Where it throws that data cannot be read, there is a checkpoint of the steps that are done: whoever
  /// mends the data goes on from there.
  void keeping_state(const std::function<void()>& read);
  /// Files that were removed while the run is at work, without which its folder cannot be read or resumed. The
  /// checkpoint is written anyway.
  void write_lost_files();
  /// The last weights as the best ones, where nothing says which were best.
  void write_last_as_best();
  /// RunState::loss_sum of the steps so far, where that was not read yet. Throws NonFiniteLoss where it is not finite.
  void read_loss();
  /// Goes back to the checkpoint, repeats the steps since, and throws NonFiniteLoss with the first bad value.
  [[noreturn]] void fail_non_finite();
  /// Throws NonFiniteLoss with what [compiler] mode = "nan_guard" found at that location of the epoch.
  [[noreturn]] void fail_guarded(const BadValueError& error, const std::string& location) const;

  const std::optional<KeptCheckpoint>& last() const { return last_; }
  /// The messages of an error that ends the run, with a hint how to go on from the last checkpoint.
  std::vector<Message> with_resume_hint(const Error& error) const;

 private:
  std::string best_path() const;
  Checkpoint checkpoint() const;
  KeptCheckpoint position() const;

  Training& training_;
  const RunContext& context_;
  EpochClock& clock_;
  std::optional<KeptCheckpoint> last_;
  int64_t saved_step_ = 0;
  SteadyTime saved_;
  /// Since the last checkpoint: Schedules::observed() from a step on.
  std::vector<std::pair<int64_t, std::vector<double>>> observed_;
};

}  // namespace thtrain
