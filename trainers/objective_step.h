// What an experiment adds to the step of its objectives.
#pragma once

#include <vector>

#include "nn/model.h"
#include "nn/objective.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Adds loss.contraction times the penalty of the layer loss.contracted to the cost of the step. UserError where the
/// objective has gradients of its own, and as contraction_penalty().
void add_contraction(ObjectiveStep& step, ModelPass& pass, const LossConfig& loss);

/// Where the cost does not need all of these parameters, the step gets gradients of its own, and the others are left
/// alone: the visible bias of an rbm layer that is in a classifier.
void leave_unneeded(ObjectiveStep& step, const std::vector<Param>& params);

}  // namespace thtrain
