// What computes the normalization of each channel on a device: the op's expression in a kernel, or cuDNN.
#pragma once

#include "compiler/ops/linalg/library_functions.h"

/// y = scale (x - mean) / sqrt(variance) + shift along the middle one of three axes. `parameters`: scales, shifts,
/// means and variances, `channels` of each.
#define TH_CUDNN_BATCH_NORM_PARAMETERS(T) long outer, long channels, long inner, const T *x, const T *parameters, T *y

namespace thtrain {

/// "cudnn_batch_norm_f32" or "cudnn_batch_norm_f64", of a device.
kernel::LibraryFunction cudnn_batch_norm_function(const kernel::Target& target, DType dtype);

/// Is it a normalize with scale and shift over all axes but one, on a device, and does the chooser name cuDNN for it?
/// No without a chooser.
bool is_normalize_of_library(const Node& node, const kernel::Target& target, const kernel::Chooser* chooser);

/// By a library, or `otherwise`.
void lower_chosen_normalize(kernel::StepBuilder& b, void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
