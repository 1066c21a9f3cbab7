// Tiles of sums that stay in registers: which of their operands stay there too, and what a tile costs by what was
// measured of the machine.
#pragma once

#include <algorithm>

#include "compiler/kernel/target.h"
#include "compiler/kernel/term.h"

namespace thtrain::kernel {

/// Of the vectors that a tile of `sums` is multiplied with, how many stay in registers: one register is left for what
/// is broadcast, and one for the compiler, but where most loads cross a line (`crosses`): these cost two.
inline int64_t held_vectors(const Target& target, int64_t sums, bool crosses = false) {
  return std::max<int64_t>(0, target.registers() - sums - (crosses ? 1 : 2));
}

/// Number v of these `vectors`, which was loaded, and is multiplied by `uses` elements. Those that are not held are a
/// part of the instructions that use them, as g++ makes of each load with at most four uses: they are loaded as often
/// as they are used.
inline Term held(const Target& target, const Term& vector, int64_t v, int64_t uses, int64_t vectors,
                 bool crosses = false) {
  return uses > 1 && v < held_vectors(target, uses * vectors, crosses) ? in_register(vector) : vector;
}

/// Loads of `vectors`, each of which is multiplied by `uses` elements and added to as many sums.
inline double vector_loads(const Target& target, double uses, double vectors, bool crosses = false) {
  const auto sums = static_cast<int64_t>(uses * vectors);
  const double held = std::min(vectors, static_cast<double>(held_vectors(target, sums, crosses)));
  return held + (vectors - held) * uses;
}

/// Cycles of one step of a tile: each of `uses` elements, which are broadcast, times each of `vectors`, by what limits
/// them: how many multiply-adds begin in a cycle, the loads, and how long it takes until a sum can be added to again.
inline double tile_cycles(const Target& target, double uses, double vectors) {
  const KernelRates& rates = target.rates;
  return std::max({uses * vectors * rates.multiply_add / 100,
                   (uses + vector_loads(target, uses, vectors)) * rates.load / 100, rates.sum / 100.0});
}

}  // namespace thtrain::kernel
