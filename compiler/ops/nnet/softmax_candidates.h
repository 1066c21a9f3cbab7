// What computes softmax on a device: the op's kernel, or cuDNN.
#pragma once

#include "compiler/ops/linalg/library_functions.h"

/// y = softmax of x, or its logarithm, along the middle one of three axes; y may be x.
#define TH_CUDNN_SOFTMAX_PARAMETERS(T) int is_logarithm, long outer, long n, long inner, const T *x, T *y

namespace thtrain {

/// "cudnn_softmax_f32" or "cudnn_softmax_f64", of a device.
kernel::LibraryFunction cudnn_softmax_function(const kernel::Target& target, DType dtype);

/// Is it softmax or log_softmax, on a device, and does the chooser name cuDNN for it? No without a chooser.
bool is_softmax_of_library(const Node& node, const kernel::Target& target, const kernel::Chooser* chooser);

/// By a library, or `otherwise`.
void lower_chosen_softmax(kernel::StepBuilder& b, void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
