// How the steps of the three convolutions are lowered: by a chosen candidate where all lengths are known, else by the
// definition.
#pragma once

#include "compiler/ops/conv/geometry.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {

/// Of one of the three ops.
void lower_conv(kernel::StepBuilder& builder);
/// By the definition, for any lengths and layouts.
void lower_conv_loops(kernel::StepBuilder& builder);

/// Op::epilogue of conv and conv_input_gradient: convolutions for which a kernel of compiler/cpu/conv/ is chosen that
/// can end with elementwise expressions.
const Epilogue& conv_epilogue();

/// The reference of one of the three ops: products are added in float64 and rounded once.
std::vector<Tensor> conv_reference(const ReferenceArgs& args);
/// Sums of at most as many products as its result says.
ErrorRule conv_error();
/// Layouts that candidates take: images and results row-major, filters any.
bool conv_accepts_layout(const Node& node, size_t input, const Layout& layout);

/// Batching rules of conv, whose images vary, and of conv_input_gradient, whose results do, the filters not: the images
/// of all iterations are one batch.
extern const IterationsRule kConvOfIterations, kConvInputGradientOfIterations;

}  // namespace thtrain
