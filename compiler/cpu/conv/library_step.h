// What steps that call a library function for a convolution share.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// The step's inputs as library functions take them: row-major. Filters that lie otherwise are copied first.
std::array<kernel::Operand, 2> row_major_inputs(kernel::StepBuilder& builder, const Convolution& c);
/// Bytes of workspace that row_major_inputs() takes at most.
int64_t row_major_bytes(const Convolution& c);

using LibraryArguments = decltype(kernel::LibraryCall::arguments);
/// The arguments of TH_CONV_PARAMETERS.
LibraryArguments conv_arguments(const Convolution& c);

}  // namespace thtrain
