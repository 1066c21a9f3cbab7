// A profile as people and programs read it: a table, JSON, and a time line for trace viewers.
#pragma once

#include <optional>
#include <string>

#include "compiler/runtime/function.h"

namespace thtrain {

/// What the machine allows with the profile's threads and dtype.
struct MachineRates {
  double flops = 0;  // floating-point operations a second, multiply-adds counted as two
  double bytes = 0;  // a second, to and from memory
};

/// For each step: time of a call, share of all, rates, and the part of the ceiling that they are (time that the larger
/// of operations and bytes needs at the machine's rates, over the time taken; above 100 % where the caches hold the
/// data); then layers, passes, rules and memory.
std::string profile_table(const Profile& profile, const Explanation& explanation,
                          const std::optional<MachineRates>& rates);

/// The same as one JSON object, an entry on each line.
std::string profile_json(const Profile& profile, const Explanation& explanation,
                         const std::optional<MachineRates>& rates);

/// The first calls' steps as complete events of the Trace Event Format (Google, 2016), which chrome://tracing and
/// Perfetto open.
std::string profile_trace(const Profile& profile);

}  // namespace thtrain
