// Convolutions by fast Fourier transforms (ops/conv/fft_lengths.h). Where a step transforms all images at once, a later
// step of the program that needs the same spectra of the same value takes them over (kernel::StepBuilder::derived).
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/fft_lengths.h"

namespace thtrain {

/// How the library function works.
struct FftWork {
  std::array<int64_t, 3> lengths;  // of the transforms, products of small primes
  int64_t batch;                   // images at a time

  int64_t elements() const { return lengths[0] * lengths[1] * lengths[2]; }
  /// Complex numbers of a spectrum of real elements.
  int64_t frequencies() const { return lengths[0] * lengths[1] * (lengths[2] / 2 + 1); }
};

constexpr int64_t kFftPlanes = 8;    // that a thread transforms before they are laid out by frequency
constexpr int64_t kFftWalkers = 16;  // at most so many threads transform
/// Elements of a thread's own memory: one plane, then kFftPlanes spectra; both parts begin at multiples of 16.
int64_t fft_plane_elements(const FftWork& work);
int64_t fft_spectrum_elements(const FftWork& work);

FftWork fft_work(const Convolution& c);
/// What the error of no result exceeds, over max |a| sum |b|: a the images (for the gradient to them dy), the sum over
/// what one channel of the result takes of the other operand. Three transforms of L elements, each within
/// log2(L) (mu + gamma_4 (sqrt 2 + mu)), about 7 log2(L) u, in the 2-norm (Higham, Accuracy and Stability of Numerical
/// Algorithms, section 24.1), a sum of products of complex numbers, and |a|_2 <= sqrt(L) max |a|.
double fft_error_bound(const Convolution& c);
/// Bytes of workspace that lower_fft takes at most, spectra that an earlier step made included.
int64_t fft_workspace(const Convolution& c);
/// Writes the step of any of the three passes.
void lower_fft(kernel::StepBuilder& builder, const Convolution& c);

}  // namespace thtrain
