// Looking at what training would do, without training: checks, the functions of a step explained, their choices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"
#include "trainers/experiment.h"
#include "trainers/hooks.h"

namespace thtrain {

struct Dataset;

struct CheckReport {
  ModelSummary model;
  double loss = 0;  // of the first minibatch, before any step
};
/// Builds, compiles, and runs one step on the first minibatch. Writes nothing. `config_folder` is where relative paths
/// start.
CheckReport check_experiment(const Experiment& experiment, const Dataset& data, const std::string& config_folder);

/// Steps on the first minibatches, timed one by one after a first one that is not: at least one, and as many as fit in
/// `seconds`. Of a batch method, of its function of a chunk of examples. UserError with trainer.shards.
struct ProfiledSteps {
  Profile profile;
  int64_t launches = 0;  // of a step that is not profiled: nodes of a device's graphs
};
ProfiledSteps profile_steps(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                            double seconds);

/// What has several implementations in the training step and in the function that counts errors, each once.
std::vector<kernel::ChoiceKey> choices_of(const Experiment& experiment, const Dataset& data,
                                          const std::string& config_folder);
/// UserError, with the key's location, where a pattern of compiler.only_candidates, include_candidates or
/// exclude_candidates names no candidate of any choice in any phase. Compiles the phases where there are patterns.
void check_candidate_lists(const Experiment& experiment, const std::function<const Dataset&(size_t phase)>& data,
                           const std::string& config_folder);
/// The choices of all phases, each once.
std::vector<kernel::ChoiceKey> choices_of_phases(const Experiment& experiment,
                                                 const std::function<const Dataset&(size_t phase)>& data,
                                                 const std::string& config_folder);
/// The function of one training step, explained (`thtrain explain`). Runs nothing. `minibatch`, where it is not null,
/// becomes what the function takes for its first minibatch; shared variables of the graph have their first values then.
Explanation explain_training(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                             std::vector<Tensor>* minibatch = nullptr);
/// The function that counts the errors on the validation examples. UserError where there are none.
Explanation explain_errors(const Experiment& experiment, const Dataset& data, const std::string& config_folder);

}  // namespace thtrain
