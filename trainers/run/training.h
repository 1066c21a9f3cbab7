// What a run trains, and how far it has come: what its evaluation, its checkpoints and its reports look at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainers/checkpoint.h"
#include "trainers/kept_checkpoints.h"
#include "trainers/monitor.h"
#include "trainers/program.h"

namespace thtrain {

/// What a phase has of those before it, and of the run. Without phases all is empty.
struct PhaseStart {
  std::vector<PhaseHistory> before = {};          // the phases before it
  NamedArrays weights = {};                       // what it begins with
  std::optional<RandomState> random = {};         // the generator that shuffles
  std::optional<KeptCheckpoint> last = {};        // the last checkpoint that was written
  Fingerprint later = {};                         // of the data of the phases behind it: "training data of phase b"
  std::map<std::string, std::string> files = {};  // of those entries, for messages
};

/// One phase of a run; the whole run where it has no phases.
struct Training {
  /// Builds and compiles. The training is before its first minibatch. `whole` is the run's experiment, and `of_phase`
  /// that of the phase. UserError as TrainingProgram.
  Training(const Experiment& of_phase, const Experiment& whole, const Dataset& data, const std::string& config_folder,
           PhaseStart start, const std::shared_ptr<Ranks>& ranks);

  const Experiment& experiment;  // of the phase
  std::string phase;             // its name; "" without phases
  bool is_last_phase;
  PhaseStart start;
  TrainingProgram program;
  Monitor monitor;
  Fingerprint fingerprint;
  RunState state;
  RandomState next_random;         // the generator after this epoch's draw
  NamedArrays best = {};           // weights with the best validation error; none before the first validation
  bool best_is_written = true;     // in their file
  bool has_unread_losses = false;  // of steps since state.loss_sum was read

  /// Is nothing left to be done? An epoch that was not reported yet is.
  bool is_over() const;
  /// A batch method ends by itself. Its last iteration is reported first.
  bool has_converged() const;
  /// Are trainer.max_seconds spent? `more`: seconds of this epoch that `state` does not count yet.
  bool is_time_spent(double more = 0) const;

  /// Does it cost nothing to read the loss after each step? On a device it lies there, and is read where it is needed.
  bool has_loss_at_hand() const {
    return program.sharded() || experiment.compiler.device == CompilerConfig::Device::kCpu;
  }
  /// Do several processes train together? Then they stop, save and end by what all of them know after a step.
  bool has_ranks() const { return program.ranks().size() > 1; }
  /// Their values, which the next step changes.
  NamedArrays weight_arrays() const;
  NamedArrays step_arrays() const;
  /// Besides the weights: all that decides later steps.
  NamedState kept_state() const;
  /// The epochs of this phase and of those before it.
  std::vector<PhaseHistory> histories() const;
  /// The phase's number, from 0.
  size_t phase_number() const { return start.before.size(); }
  /// Of the next epoch, which begins with the generator after this one's draw.
  void begin_next_epoch();
};

}  // namespace thtrain
