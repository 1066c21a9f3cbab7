// How loops reach memory fastest on this machine: what is measured once, before the first program is planned.
// docs/decisions/0013.
#pragma once

#include <vector>

#include "compiler/kernel/target.h"

namespace thtrain {

/// What is given of a target that is not measured: where its caches were forced, or their sizes are unknown.
kernel::MemoryLimits usual_memory_limits(const kernel::Target& target);

/// Times loops of this machine's instructions and caches, those of `target`, and gives what was fastest: in about 0.035
/// s, and in at most twice that where other programs take the cores. The usual limits where there is nothing to time:
/// no x86-64, or caches of unknown size.
kernel::MemoryLimits measure_memory_limits(const kernel::Target& target);

namespace detail {

/// Removes the lines of so many bytes from all caches. x86-64 only.
void forget_lines(const void* from, int64_t bytes);

/// Seconds of the same loop over so many bytes in two ways.
struct StoreTimes {
  int64_t bytes;
  double cached, non_temporal;
};
/// The limit under which the product of all times is least, if loops of more bytes are non-temporal: between two of the
/// sizes, or 0 where none should be, or less than a tenth is gained. `times`: the smallest first.
int64_t best_non_temporal_limit(const std::vector<StoreTimes>& times);

/// Seconds of the same loops, one for each size, at one distance of prefetching.
struct PrefetchTimes {
  int lines;
  std::vector<double> seconds;
};
/// The distance with the least product of times; 0 unless it gains more than a fiftieth on not prefetching, which comes
/// first in `times`.
int best_prefetch_lines(const std::vector<PrefetchTimes>& times);

}  // namespace detail

}  // namespace thtrain
