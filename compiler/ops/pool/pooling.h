// What the candidates of pooling are chosen by: a node of one of the five ops, its lengths all known.
#pragma once

#include <optional>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/choice.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {

struct Pooling {
  const Op* op = nullptr;
  DType dtype = DType::kFloat32;
  Ints image;  // lengths, also of the leading axes
  PoolWindows windows;
  PoolDivisor divisor = PoolDivisor::kOne;  // of sums

  /// May a vector of windows stay in registers with all of its elements? They lie side by side along a row, 2 or 4
  /// wide, none sticks out, and they have at most 16 elements; for a gradient no two share a row.
  bool has_taps() const;
  /// Is it the gradient of maxima of windows that share elements, one or two axes of them, of at most 25 elements, 1, 2
  /// or 4 columns from window to window, in rows of at most 2 KiB?
  bool has_positions() const;
};

/// "pool max_pool float32 16x64x56x56 w2x2 s2x2 p0:0x0:0": the op, dtype, lengths of the image, window, stride and
/// padding; " border" where windows may stick out, and the divisor of sums.
kernel::ChoiceKey key_of(const Pooling& pooling);
/// Back from a key; nullopt where it is none.
std::optional<Pooling> pooling_of(const kernel::ChoiceKey& key);
/// Of a node of one of the five ops; nullopt where a length is not known or 0.
std::optional<Pooling> known_pooling(const Node& node);

}  // namespace thtrain
