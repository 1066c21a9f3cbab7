// Weights of examples that training can compute with.
#pragma once

#include "datasets/dataset.h"

namespace thtrain {

/// UserError where the weights of all examples are 0, one of them is above 0 and too small for `floatx`, or their sum
/// is too large for it. Of values that check_batch refuses it says nothing. Looks at the weights alone.
void check_weight_sums(const Split& split, DType floatx);

}  // namespace thtrain
