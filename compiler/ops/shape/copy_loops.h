// Loop nests over the elements of a shape: what the lowerings of shape and index ops share.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

using Terms = std::vector<kernel::Term>;

/// What a kernel's loops run over; goes into StepBuilder::finish_kernel.
struct LoopRange {
  Dim range = 1;
  Dim grain = 0;
};

/// The least part of a range that is worth a thread, where each step of it handles `elements` elements.
Dim grain_of(const Dim& elements);

/// Variations of a nest of loops.
struct NestOptions {
  size_t enter_axis = 0;  // `enter` runs inside the loops of the axes before this one
  std::function<void(const Terms& index)> enter = {};
  std::optional<size_t> range_axis = {};  // the axis of the kernel's range; else the first that is no known 1
};

/// Loops over all elements of `dims` in row-major order, one of them over the kernel's range. body(index, lanes)
/// handles `lanes` elements side by side along the last axis that is no known 1, from `index` on; one at a time in the
/// rest.
LoopRange element_loops(kernel::StepBuilder& b, const Dims& dims, int lanes,
                        const std::function<void(const Terms& index, int lanes)>& body,
                        const NestOptions& options = {});

/// A complex operand as its real and imaginary parts along a last axis of 2; others are themselves. Loops that move or
/// add elements need no other code for them: the loop language has no complex numbers.
kernel::Operand parts_of(const kernel::Operand& operand);

/// A stride of 0 or 1 along the last axis that is no known 1: what load_lanes reads.
bool has_lanes(const kernel::Operand& operand);
/// The vector width for such operands of one dtype; 1 where it has no lanes of its own or an operand is read by
/// strides.
int lanes_for(const kernel::StepBuilder& b, std::initializer_list<const kernel::Operand*> operands);
/// Elements at `index` (`first` elements further) and the next ones; one in all lanes where the operand repeats it.
kernel::Term load_lanes(kernel::StepBuilder& b, const kernel::Operand& operand, const Terms& index, int lanes,
                        kernel::Term first = 0);

/// A kernel that copies input i to output 0, which is row-major over the same elements (perhaps under other lengths).
void copy_kernel(kernel::StepBuilder& b, size_t i, const std::string& comment);

}  // namespace thtrain
