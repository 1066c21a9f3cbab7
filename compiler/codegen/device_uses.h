// What the steps of a device's program read and write, as the entry says it: a graph of them needs no other order.
#pragma once

#include <string>

#include "compiler/plan/program.h"

namespace thtrain {

/// The lines that give each buffer's range: parts of the arena share memory as it was planned, all others have memory
/// of their own.
std::string ranges_text(const Program& program);

/// The buffer of a variable that is on the device; -1: it is not there.
int buffer_on_device(const Program& program, const Expr& variable);

/// "3, 4, ~7": the kernel, or the function of a library, reads buffers 3 and 4, and writes 7.
std::string uses_of(const Step& step, const kernel::KernelCall& call);
std::string uses_of(const Step& step, const kernel::LibraryCall& call);

}  // namespace thtrain
