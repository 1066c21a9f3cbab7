// A run of several phases, one after the other: their data, and the weights that go from one to the next.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "datasets/dataset.h"
#include "trainers/fingerprint.h"
#include "trainers/trainer.h"

namespace thtrain {

/// The data of a run's phases, loaded when it is asked for.
class PhaseData {
 public:
  using Load = std::function<Dataset(const Experiment& of_phase)>;
  /// `experiment` outlives it. An experiment without phases is one phase.
  PhaseData(const Experiment& experiment, Load load) : experiment_(experiment), load_(std::move(load)) {}

  const Experiment& experiment() const { return experiment_; }
  /// Phases with the same [data] have it once. What neither this phase nor a later one uses is given back.
  const Dataset& of(size_t phase);
  /// Builds every phase from `first` on, without its native code, and gives back the data of those behind it that
  /// `first` does not use. UserError with the first mistake that training would meet in a phase before its first step,
  /// or where weights that have one name in two phases that follow each other have two shapes.
  void check(size_t first, const std::string& config_folder);
  /// What check() found of the data of this phase; none before it.
  struct Facts {
    Fingerprint data;     // trainers/program.h
    Fingerprint lengths;  // the same entries: numbers and lengths of examples
    std::map<std::string, std::string> files;
  };
  const Facts* facts(size_t phase) const;
  /// Have the phases the same [data], cut to the same size?
  bool are_alike(size_t a, size_t b) const { return key_of(a) == key_of(b); }

 private:
  const Dataset& load(size_t phase);
  std::string key_of(size_t phase) const;

  const Experiment& experiment_;
  Load load_;
  std::map<std::string, Dataset> loaded_;  // by their [data]
  std::map<size_t, Facts> facts_;
};

/// train() of every phase in turn, the one phase of an experiment without phases included. A phase begins with the
/// weights of the one before it (PhaseConfig::pass_on) under their names, and its own first weights where these are
/// new; the generator that shuffles goes on. All phases are checked before the first one trains. The summary is that
/// of the last phase that was begun, its seconds and kernels are those of all. UserError, besides those of train():
/// the data of a phase is not what it was when the phases were checked.
TrainSummary train_phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks = {},
                          const TrainOptions& options = {});

/// resume() of such a run: in the phase of its checkpoint, or with the next one where that phase is over. UserError,
/// besides those of resume(): the checkpoint is of a phase that the experiment has not, or keys of a phase that is over
/// were edited.
TrainSummary resume_phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks = {},
                           const TrainOptions& options = {});

}  // namespace thtrain
