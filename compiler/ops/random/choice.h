// RandomState.choice with probabilities, and what its parameters and those of multinomial must be.
#pragma once

#include <cstdint>

#include "compiler/base/random_state.h"

namespace thtrain {

/// Are these k numbers of at least 0 whose sum is 1 to 1.5e-8, of which enough for n draws are not 0?
bool is_choosable(const double* p, int64_t k, int64_t n, bool with_replacement);
/// n numbers below k; `work` holds 2 k + n numbers.
void choose(RandomState& state, const double* p, int64_t k, int64_t n, bool with_replacement, int64_t* out,
            double* work);
/// Is n at least 0, and are these probabilities of which the first k - 1 leave something?
bool are_multinomial(int64_t n, const double* p, int64_t k);

}  // namespace thtrain
