// QR factorizations by cuSOLVER on a device.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// The step of qr of `count` matrices [m, n], floats or complex numbers, m >= n; no length is 0.
void call_cusolver_qr(kernel::StepBuilder& builder, int64_t count, int64_t m, int64_t n);

}  // namespace thtrain
