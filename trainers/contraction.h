// The contraction penalty of [loss].
#pragma once

#include "nn/model.h"
#include "nn/objective.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Adds loss.contraction times the penalty of the layer loss.contracted to the cost of the step. UserError where the
/// objective has gradients of its own, and as contraction_penalty().
void add_contraction(ObjectiveStep& step, ModelPass& pass, const LossConfig& loss);

}  // namespace thtrain
