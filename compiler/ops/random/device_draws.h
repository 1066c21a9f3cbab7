// Draws from MT19937 states on a device.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/random/distributions.h"

namespace thtrain {

/// Adds the kernels of a draw op of one number for each element: one block moves the state on and finds which words
/// make numbers, with the decisions of the plain way; then a thread makes each number. False, and nothing is added:
/// gamma, beta, chisquare, poisson and binomial numbers take as many words as the numbers before them decide, and
/// integers between bounds of their own are masked by each other's; these are drawn one after the other.
bool lower_device_draw(kernel::StepBuilder& b, const Distribution& of, const kernel::RuntimeCheck& unfit);

}  // namespace thtrain
