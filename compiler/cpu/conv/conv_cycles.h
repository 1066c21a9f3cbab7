// What a model of the processor expects of the candidates of a convolution, in cycles of one thread: what the rule goes
// by, and which tilings are worth a trial. Only ratios count. It counts what generated code does, and weighs it by the
// target's rates.
#pragma once

#include "compiler/cpu/conv/correlation.h"
#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/conv/direct_planes.h"
#include "compiler/cpu/conv/direct_weights.h"
#include "compiler/kernel/target.h"

namespace thtrain {

double expected_cycles(const DirectTiling& tiling, const Correlation& c, const kernel::Target& target);
double expected_cycles(const PlanesTiling& tiling, const Correlation& c, const kernel::Target& target);
double expected_cycles(const WeightTiling& tiling, const Convolution& c, const kernel::Target& target);
/// Of one kernel that pools its sums: how many less it takes than the convolution and the pooling behind it; negative
/// where it takes more.
double expected_gain_of_pooling(const DirectTiling& tiling, const Correlation& c, const PositionWindows& windows,
                                const kernel::Target& target);
/// Of BLAS over patches by slabs.
double expected_patches_cycles(const Convolution& c, const kernel::Target& target);
/// Of Winograd's tiles of tile x tile positions, where they are possible.
double expected_winograd_cycles(const Convolution& c, int64_t tile, const kernel::Target& target);

}  // namespace thtrain
