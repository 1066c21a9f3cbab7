// What the variables of an entry's buffers are called.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/identifiers.h"
#include "compiler/plan/program.h"

namespace thtrain {

/// The step that writes a buffer first, and by which of its outputs; null where none does.
struct Writer {
  const Step* step = nullptr;
  size_t output = 0;
};
/// For each buffer of the program.
std::vector<Writer> first_writers(const Program& program);

/// For each buffer its variable; empty where no call of the program's text mentions it: what is printed into kernels as
/// a number is bound to none. With `all_operands` (probes show them) the text mentions all that steps read and write.
std::vector<std::string> buffer_names(const Program& program, const std::vector<Writer>& writers, bool all_operands,
                                      Identifiers& identifiers);

/// The number of the entry's argument that is a buffer of this kind, which is no temporary: inputs come first, then
/// shared variables, constants and outputs.
size_t argument_number(const Program& program, BufferKind kind, size_t index);

}  // namespace thtrain
