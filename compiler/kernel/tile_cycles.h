// What a tile of sums that stay in registers costs, by what was measured of the machine.
#pragma once

#include <algorithm>

#include "compiler/kernel/target.h"

namespace thtrain::kernel {

/// Loads of `vectors`, each of which is multiplied by `uses` elements and added to as many sums. g++ makes the load of
/// a vector that at most four multiply-adds use a part of each of them, so that it is done as often: seen in all tiled
/// kernels, with vectors of 32 and of 64 bytes.
inline double vector_loads(double uses, double vectors) {
  constexpr double kFolded = 4;
  return uses <= kFolded ? uses * vectors : vectors;
}

/// Cycles of one step of a tile: each of `uses` elements, which are broadcast, times each of `vectors`, by what limits
/// them: how many multiply-adds begin in a cycle, the loads, and how long it takes until a sum can be added to again.
inline double tile_cycles(const KernelRates& rates, double uses, double vectors) {
  return std::max({uses * vectors * rates.multiply_add / 100, (uses + vector_loads(uses, vectors)) * rates.load / 100,
                   rates.sum / 100.0});
}

}  // namespace thtrain::kernel
