// Kernels that move elements: what the lowerings of shape and index ops share.
#pragma once

#include <string>

#include "compiler/kernel/nest.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// Simple operations of an element that is moved.
inline constexpr int64_t kMoveWork = 4;

/// The least part of a range that is worth a thread, where each step of it writes `elements` elements.
Dim grain_of(const Dim& elements, const kernel::Target& target);

/// A complex operand as its real and imaginary parts along a last axis of 2; others are themselves. Loops that move or
/// add elements need no other code for them: the loop language has no complex numbers.
kernel::Operand parts_of(const kernel::Operand& operand);
/// The same where elements are moved and nothing else: bools are the bytes that they are stored as.
kernel::Operand bits_of(const kernel::Operand& operand);

/// A kernel that copies every element of a location to another; the nest has a parallel axis for each of their axes.
void move_kernel(kernel::StepBuilder& b, const kernel::Location& from, const kernel::Location& to,
                 const std::string& name, const std::string& comment, bool is_read_again = false);

/// A kernel that copies input i to output 0, which is row-major over the same elements (perhaps under other lengths).
/// `is_read_again`: by the step itself.
void copy_kernel(kernel::StepBuilder& b, size_t i, const std::string& comment, bool is_read_again = false);

}  // namespace thtrain
