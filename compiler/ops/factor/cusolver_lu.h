// LU factorizations by cuSOLVER on a device, where it is a candidate.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// The step of lu by the chosen candidate; `otherwise` where the lengths are not known, or it is the choice.
void lower_chosen_lu(kernel::StepBuilder& builder, void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
