// A profile as people and programs read it: a table, JSON, and a time line for trace viewers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"

namespace thtrain {

/// What the machine, or the device, allows with the profile's threads and dtype.
struct MachineRates {
  /// Reading and writing arrays of `size` bytes together, again and again: what fits in a cache goes faster.
  struct Stream {
    double size = 0, bytes_per_second = 0;
  };
  double flops = 0;                  // floating-point operations a second, multiply-adds counted as two
  std::vector<Stream> streams = {};  // at least one; the smallest arrays first, the last larger than every cache
  std::string device = {};           // that they are of, and how they are known; steps on the host have none then

  /// Bytes a second of a step that moves `bytes`: the fastest of the streams that are as large, or the next smaller
  /// one.
  double stream_rate(double bytes) const;
};

/// For each step: time of a call, share of all, rates, and the part of the ceiling that they are (time that the larger
/// of operations and bytes needs at the machine's rates, over the time taken); then the shares of the forward pass,
/// the gradient and the updates, layers, passes, rules and memory.
std::string profile_table(const Profile& profile, const Explanation& explanation,
                          const std::optional<MachineRates>& rates);

/// The same as one JSON object, an entry on each line.
std::string profile_json(const Profile& profile, const Explanation& explanation,
                         const std::optional<MachineRates>& rates);

/// The first calls' steps as complete events of the Trace Event Format (Google, 2016), which chrome://tracing and
/// Perfetto open.
std::string profile_trace(const Profile& profile);

}  // namespace thtrain
