// Random numbers as functions of a generator's state: a draw takes a state and gives the state after it. The same state
// gives the same numbers. Streams that keep their states in shared variables: runtime/random_streams.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/random_state.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- random numbers ------------------------------------------------------------------------------------------------

/// What a draw gives: the state after it, and the numbers.
struct Drawn {
  Expr next, sample;
};

/// Numbers of a distribution by NumPy's RandomState, bit for bit, from a state that mt_state() gave. The distribution
/// is one of uniform, normal, lognormal, exponential, laplace, logistic, gamma, beta, chisquare (these of float32 or
/// float64, which is rounded to float32; no dtype means floatX, or float64 where a parameter is), poisson, binomial,
/// geometric, randint, random_integers (int64). Parameters are in NumPy's order, and are repeated to `size`; {} is the
/// shape that they have together. UserError for another number of parameters, or lengths that do not fit; a call
/// checks their values.
Drawn draw(const std::string& distribution, const Operand& state, const LengthList& size,
           const std::vector<Operand>& parameters, std::optional<DType> dtype = {},
           std::source_location where = std::source_location::current());
/// Permutations of 0 to n - 1, for each element of a value of lengths `size` one row: int64 [size, n].
Drawn draw_permutation(const Operand& state, const LengthList& size, const Length& n);
/// Numbers below k with the probabilities p [k], by RandomState.choice: int64 of lengths `size`. Without replacement no
/// number comes twice.
Drawn draw_choice(const Operand& state, const LengthList& size, const Operand& p, bool with_replacement = true);
/// How often each of k results comes in n trials with the probabilities p, by RandomState.multinomial: int64 [size, k].
/// n is a number or of lengths `size`, p is [k] or [size, k].
Drawn draw_multinomial(const Operand& state, const LengthList& size, const Operand& n, const Operand& p);
/// One step of MRG31k3p for each of `size` numbers, in (0, 1), float32 or float64 (no dtype: floatX). The state is
/// int32 [6, streams]; number i is of stream i mod streams.
Drawn draw_mrg_uniform(const Operand& state, const LengthList& size, std::optional<DType> dtype = {},
                       std::source_location where = std::source_location::current());

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// uint32 [RandomState::kStateWords], as a generator's state is held: RandomState::to_words().
Tensor tensor_of(const RandomState& state);
RandomState random_state_of(const Tensor& words);

}  // namespace thtrain
