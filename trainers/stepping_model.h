// Models of sequences that go on by themselves: what they give is what they take next.
#pragma once

#include <string>

#include "nn/model.h"
#include "trainers/experiment.h"

namespace thtrain {

/// The experiment whose layers go on from the state of the step before: one sequence of one step in each call.
/// UserError, which says `what` such a model cannot write, at a layer that cannot (LayerOptions::go_step_by_step).
Experiment step_by_step(Experiment experiment, const std::string& what);
/// The model of such an experiment for steps of the shape `step`, with the weights of a file, and zeros for the states
/// of sequences. UserError where they do not fit, or are those of standardized examples, of which `what` are none; and
/// at a layer that computes with whole sequences and keeps no state.
Model stepping_model(const Experiment& experiment, const Shape& step, int64_t classes, const std::string& weights,
                     const std::string& what);

}  // namespace thtrain
