// The library functions behind draws from MT19937 states. A state is RandomState::kStateWords words (to_words());
// `next` may be the same memory. All give 0, or what was wrong with the parameters before anything was written.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/linalg/library_functions.h"  // TH_TEXT_OF
#include "compiler/ops/random/distributions.h"

/// The parameters after the ThContext*. n numbers; a_step and b_step: elements between parameters, 0 for one number.
/// Gives the number of the first element whose parameters do not fit, from 1.
#define TH_DRAW_PARAMETERS(T) \
  long n, const unsigned *state, unsigned *next, const void *a, long a_step, const void *b, long b_step, T *out
/// `rows` permutations of 0 to n - 1.
#define TH_PERMUTATION_PARAMETERS long rows, long n, const unsigned *state, unsigned *next, long *out
/// n numbers below k with the probabilities p[k]; `work` holds 2 k + n numbers. 1: p is not of that kind.
#define TH_CHOICE_PARAMETERS \
  long n, long k, long with_replacement, const double *p, const unsigned *state, unsigned *next, long *out, double *work
/// rows x k counts; the step of a trial count is 0 or 1, that of the probabilities 0 or k. Gives a row, from 1.
#define TH_MULTINOMIAL_PARAMETERS                                                                               \
  long rows, long k, const long *trials, long trials_step, const double *p, long p_step, const unsigned *state, \
      unsigned *next, long *out

namespace thtrain {

/// "mt_normal_f32", and so on.
std::string draw_function_name(const Distribution& of, DType dtype);
kernel::LibraryFunction draw_function(const Distribution& of, DType dtype);
const kernel::LibraryFunction& permutation_function();
const kernel::LibraryFunction& choice_function();
const kernel::LibraryFunction& multinomial_function();

}  // namespace thtrain
