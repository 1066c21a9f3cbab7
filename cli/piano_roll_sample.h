// Piano rolls that `thtrain sample` writes.
#pragma once

#include "cli/commands/sample.h"
#include "cli/load_experiment.h"

namespace thtrain {

/// Does the run's model give piano rolls: is its data the source piano_rolls, or is one of its layers an rnn_rbm?
bool gives_piano_rolls(const Experiment& experiment);

/// A piano roll of `length` steps as the source piano_rolls reads it: "@ sample steps keys", and a line for each step
/// with the keys that sound. An rnn_rbm draws each step from its machine; another model gives each key's probability
/// after the steps before it, at first after a silent one. The same arguments give the same text. UserError where the
/// model gives nothing of the kind, and for options that it has no use for.
std::string sample_piano_roll(const LoadedExperiment& loaded, const SampleArguments& arguments,
                              const std::string& weights);

}  // namespace thtrain
