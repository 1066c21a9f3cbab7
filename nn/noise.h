// Random numbers of layers and objectives: draws from states of MRG31k3p (docs/random.md), which the seed of an
// experiment decides and checkpoints keep. The same state gives the same numbers.
#pragma once

#include "compiler/ops/random/random.h"

namespace thtrain {

/// A state int32 [6, streams] of MRG31k3p: its first stream begins with six words of `random`, from 1 to 2147462578,
/// and each next one 2^72 numbers further.
Tensor mrg_state_of(RandomState& random, int64_t streams);
/// How many streams draws for examples of these lengths have: one for each element of an example, at most 15360.
int64_t mrg_streams_of(const Shape& example);

/// 1 with the probability p, else 0, for each element of p: 1 where a uniform number is below p. Of the dtype of p.
Drawn draw_bernoulli(const Expr& state, const Expr& p);
/// 1 with the probability p, else 0, of these lengths.
Drawn draw_bernoulli(const Expr& state, const LengthList& size, double p, DType dtype);
/// Normal numbers of mean 0 and deviation 1: sqrt(-2 log u) cos(2 pi v), u the first so many uniform numbers, v the
/// next. G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
Drawn draw_standard_normal(const Expr& state, const LengthList& size, DType dtype);

}  // namespace thtrain
