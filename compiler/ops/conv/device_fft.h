// Convolutions on a device by transforms of Fourier (fft_lengths.h). Images, filters and results with zeros become
// spectra, and these S[frequency][part][plane], real parts before imaginary ones. For each frequency and group a
// product of complex matrices is one of real matrices with twice as many rows and terms, by tiles: the same
// multiplications.
#pragma once

#include <cstdint>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/fft_lengths.h"

namespace thtrain {

/// The error of every result, relative to the norm of fft_error_bound() (cpu/conv/fft.h). Passes of radix r err by
/// (r + 3) sqrt(r) u in the 2-norm, which is at most 10 log2(r) u up to 7; by cuFFT, of which NVIDIA states no bound,
/// the same is taken. Products sum twice as many terms.
double device_fft_error_bound(const Convolution& c);
/// Bytes of workspace that lower_device_fft() takes, spectra that an earlier step made included.
int64_t device_fft_workspace(const Convolution& c, bool by_cufft);
/// Writes the step of a pass where has_fft(c). Transforms are thtrain's kernels, or calls of cuFFT.
void lower_device_fft(kernel::StepBuilder& builder, const Convolution& c, bool by_cufft);

}  // namespace thtrain
