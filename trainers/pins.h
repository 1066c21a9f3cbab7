// What decides the bits of a run beside its experiment: recorded in its folder and its checkpoints, compared when it
// goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

/// Names and values, for people and for comparing: "threads" = "2".
using Pins = std::vector<std::pair<std::string, std::string>>;

/// thtrain's build, threads, processor, width of vectors, BLAS kernels and compiler, as a function compiled now would
/// see them. `threads` as in the experiment (0: chosen here).
Pins machine_pins(int64_t threads);

/// A line for each pin that differs or is there only once: "threads: 2 then, 4 now".
std::vector<std::string> differences(const Pins& then, const Pins& now);

/// One "name = value" on each line, and back (lines that are none are left out): how a checkpoint keeps them.
std::string pins_text(const Pins& pins);
Pins pins_of(const std::string& text);

}  // namespace thtrain
