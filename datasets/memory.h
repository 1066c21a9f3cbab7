// How much memory there is, and refusing what cannot fit.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/base/error.h"

namespace thtrain {

/// Bytes that this process may use at most: the machine's memory, its control group's limit (containers) or the limit
/// of its address space (`ulimit -v`), whichever is least.
uint64_t usable_memory();

/// UserError that names `path`, `what` ("float32[60000, 784]") and both sizes, where `bytes` is more than there is.
void require_memory(const std::string& path, const std::string& what, uint64_t bytes);

}  // namespace thtrain
