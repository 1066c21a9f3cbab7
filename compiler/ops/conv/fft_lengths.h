// The transforms of Fourier by which convolutions are products of spectra, for strides and dilations of 1:
//
//   forward                   Y = X conj(W), summed over channels
//   gradient to the images    dX = W dY, summed over filters
//   gradient to the filters   dW = X conj(dY), summed over images
//
// where X is the transform of an image with its zeros, and for each frequency the sum is a product of matrices. Each
// spectrum belongs to two of the three passes (kernel::StepBuilder::derived).
#pragma once

#include <array>
#include <cstdint>

#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// Are strides and dilations 1?
bool has_fft(const Convolution& c);
/// Of the transforms along the three axes: products of small primes, at least as long as the image with its zeros.
std::array<int64_t, 3> fft_lengths(const Convolution& c);
/// Products that a result's spectrum sums.
int64_t fft_terms(const Convolution& c);

}  // namespace thtrain
