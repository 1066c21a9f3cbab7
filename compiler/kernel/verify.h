// Checks a kernel before it is printed: what a lowering got wrong is found here, by the statement, and not by a crash.
#pragma once

#include "compiler/kernel/statement.h"
#include "compiler/kernel/target.h"

namespace thtrain::kernel {

/// An InternalError where
/// - a variable, array or buffer is used that no statement around it defines, is defined twice, or has another type;
/// - something that is no variable is assigned, or a buffer stored to that the function only reads;
/// - bounds, steps, indices and conditions are no single int64 numbers or bools, or a loop's step is not positive;
/// - an affine index of a loop whose bounds are numbers leaves an array of known length. (An access inside a branch is
///   not judged: its condition may keep it inside.)
/// - a vector is wider than 16 of the target's, or local arrays need more than 512 KiB of the stack;
/// - a function of a device has more threads or shared bytes than the target, a shared array within a loop or branch, a
///   barrier or shuffle to which not all of its threads come (uniform_flow.h), an atomic operation on what is no
///   integer of 32 or 64 bits; or a processor's function has a statement of devices.
/// Linear in the number of terms.
void verify(const Function& function, const Target& target);

}  // namespace thtrain::kernel
