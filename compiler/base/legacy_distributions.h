// The distributions of NumPy's RandomState, one number at a time: the same arithmetic in the same order, so that the
// bits agree (those of exp, log and pow are the C library's).
//
// Parameters are in their ranges: the callers check. Uniform and normal numbers: random_state.h.
#pragma once

#include <cstdint>

#include "compiler/base/random_state.h"

namespace thtrain::legacy {

/// exp(1): the inverse of the distribution function.
double standard_exponential(RandomState& state);
/// Of any shape >= 0. Below 1: J. H. Ahrens, U. Dieter, Computing 12, 1974, with exponential candidates; above:
/// G. Marsaglia, W. W. Tsang, ACM TOMS 26(3), 2000.
double standard_gamma(RandomState& state, double shape);
/// a, b > 0. Both at most 1: M. D. Johnk, Metrika 8, 1964; else a ratio of gamma numbers.
double beta(RandomState& state, double a, double b);
double laplace(RandomState& state, double location, double scale);
double logistic(RandomState& state, double location, double scale);
/// Rate from 0 to about 9.2e18. Below 10 by products of uniform numbers, above by transformed rejection (W. Hormann,
/// Insurance: Mathematics and Economics 12, 1993, PTRS).
int64_t poisson(RandomState& state, double rate);
/// n >= 0 trials, 0 <= p <= 1. By inversion up to a mean of 30, above by BTPE (V. Kachitvichyanukul, B. W. Schmeiser,
/// Communications of the ACM 31(2), 1988).
int64_t binomial(RandomState& state, int64_t n, double p);
void binomials(RandomState& state, int64_t n, double p, int64_t* out, int64_t count);
/// Trials until the first success, 0 < p <= 1.
int64_t geometric(RandomState& state, double p);
/// How often each of `categories` comes in n trials; the last probability is what the others leave.
void multinomial(RandomState& state, int64_t n, const double* p, int64_t categories, int64_t* counts);

}  // namespace thtrain::legacy
