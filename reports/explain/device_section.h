// The part of an explained function's page that tells what a device does.
#pragma once

#include <string>

#include "compiler/runtime/function.h"

namespace thtrain {

/// Where values lie, what is copied, which steps are one graph, and what each kernel needs. Kernels link to their texts
/// (`id` is the kernel's name). Of a function for a device.
std::string device_section(const Explanation& explanation);

}  // namespace thtrain
