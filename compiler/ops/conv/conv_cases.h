// Test cases of the three convolutions: strides, paddings, dilations, groups, lengths at the edges.
#pragma once

#include "compiler/ir/op.h"

namespace thtrain {

std::vector<OpCase> conv_cases();
std::vector<OpCase> conv_input_gradient_cases();
std::vector<OpCase> conv_weight_gradient_cases();

}  // namespace thtrain
