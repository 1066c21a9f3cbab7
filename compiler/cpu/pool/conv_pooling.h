// What is chosen of a convolution and the pooling of its result: one kernel for both, or one after the other.
#pragma once

#include <optional>

#include "compiler/cpu/conv/correlation.h"
#include "compiler/cpu/conv/direct.h"
#include "compiler/ops/pool/pooling.h"

namespace thtrain {

/// A forward convolution, and max_pool or sum_pool of its result, their lengths all known.
struct ConvPooling {
  Convolution conv;
  Pooling pooling;
  Correlation c;
  PositionWindows windows;

  /// nullopt where images have more than two axes, or windows lie over filters.
  static std::optional<ConvPooling> of(const Convolution& conv, const Pooling& pooling);
  static std::optional<ConvPooling> of(const Node& conv, const Node& pooling);
  /// Has a kernel of that tiling room for both, on every processor?
  bool fits(const DirectTiling& tiling) const;
};

/// The candidates: by the direct kernel that is chosen for the convolution, from its array of sums; or in two steps,
/// the convolution by any candidate of its own.
inline constexpr const char* kOneKernel = "one kernel";
inline constexpr const char* kApart = "apart";

/// "pooled_conv float32 b60 i1x28x28 k20x5x5 then max_pool float32 60x20x24x24 w2x2 s2x2 p0:0x0:0": both keys.
kernel::ChoiceKey key_of(const ConvPooling& pooling);
/// Back from a key; nullopt where it is none.
std::optional<ConvPooling> conv_pooling_of(const kernel::ChoiceKey& key);

}  // namespace thtrain
