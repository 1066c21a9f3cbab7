// A pass of a convolution by the kernels of another one, with the axes of images and channels exchanged. The gradient
// to the filters is a forward pass:
//
//   dw[f, c, k] = sum over n, o of x[n, c, o stride + k dilation - before] dy[n, f, o]
//
// correlates "images" x [c, n] with "filters" dy [f, n], whose taps are positions, and whose positions are taps; stride
// and dilation are exchanged. x is copied to [c, n], and the result [c, f] to [f, c].
//
// The forward pass is a gradient to filters:
//
//   y[n, f, o] = sum over c, k of x[n, c, o stride + k dilation - before] w[f, c, k]
//
// sums, over the "images" c and the "positions" k, x [c, n] times "the result's gradient" w [c, f], and gives "filters"
// y [f, n], whose taps are positions. x and w are copied, and the result to [n, f].
#pragma once

#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/conv/direct_weights.h"

namespace thtrain {

/// Has `c` one group?
bool is_exchangeable(const Convolution& c);
/// The forward pass that computes the gradient to the filters `c`.
Correlation exchanged_gradient(const Convolution& c);
/// The gradient to filters that computes the forward pass `c`. Its `out` are the taps of `c`, however far the zeros
/// behind the image reach.
Convolution exchanged_forward(const Convolution& c);
/// Bytes of workspace that lower_exchanged takes.
int64_t exchanged_workspace(const Convolution& c, const DirectTiling& tiling, const kernel::Target& target);
int64_t exchanged_workspace(const Convolution& c, const WeightTiling& tiling, const kernel::Target& target);
/// Writes the step of the gradient to the filters.
void lower_exchanged(kernel::StepBuilder& builder, const Convolution& c, const DirectTiling& tiling);
/// Writes the step of the forward pass.
void lower_exchanged(kernel::StepBuilder& builder, const Convolution& c, const WeightTiling& tiling);

}  // namespace thtrain
