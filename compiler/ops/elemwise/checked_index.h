// Indices that come from data: their checks, with the same text from the reference and from native code.
#pragma once

#include <string>

#include "compiler/kernel/nest.h"

namespace thtrain {

/// A check of an index into an axis. {value} in the texts is the index, {limit} what `limit` says.
struct IndexCheck {
  std::string what, expected;
  bool from_end = false;  // negative indices count from the end (of signed dtypes)
};

/// The position from 0 that an index names; UserError where it is outside [0, length). `shown` replaces {limit} by
/// another number than the length.
int64_t checked_position(const Node& node, const IndexCheck& check, DType dtype, int64_t index, int64_t length,
                         std::optional<int64_t> shown = {});

/// The same in a kernel: the index is a loaded term. `node` is the step's, or the one in the body of a loop that the
/// error belongs to.
kernel::Term checked_position(kernel::StepBuilder& b, const Node& node, const IndexCheck& check, kernel::Term index,
                              kernel::Term length);

}  // namespace thtrain
