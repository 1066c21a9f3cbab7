// Windows over the positions of a correlation, which a direct kernel pools from its array of sums.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Windows along one axis of `positions` positions: window j has the positions j stride - before + [0, window) that
/// exist.
struct PooledAxis {
  int64_t positions = 1, windows = 1, window = 1, stride = 1, before = 0, after = 0;

  /// May a window have less than `window` positions?
  bool is_cut() const { return before > 0 || (windows - 1) * stride + window > positions; }
  /// The most positions that `count` neighbouring windows cover.
  int64_t covered(int64_t count) const { return std::min(positions, (count - 1) * stride + window); }
};

/// Windows over the rows and columns of a correlation's images, whose depth is 1.
struct PositionWindows {
  std::array<PooledAxis, 2> axes;

  const PooledAxis& rows() const { return axes[0]; }
  const PooledAxis& columns() const { return axes[1]; }
  /// Elements behind an array that a vector of windows, of so many lanes, may read or write.
  int64_t slack(int lanes) const { return lanes * (1 + std::min<int64_t>(columns().stride, 4)); }
};

/// The sums of some rows of a block of filters, and where the pooled ones go: local arrays of the kernel, position by
/// position with the filters side by side, or (`by_filter`) filter by filter with the positions side by side. Behind
/// both arrays are slack() elements that may be read and written.
struct PositionArrays {
  std::string from, to;
  bool by_filter = false;
  int64_t block = 1;                     // filters
  int64_t from_pitch = 0, to_pitch = 0;  // by filter: from one to the next
  kernel::Term filters;                  // by filter: how many exist
  kernel::Term first_row;                // the row of positions that `from` begins with
  kernel::Term first, last;              // rows of windows
};

/// Pools the sums of a direct kernel.
class PositionPooling {
 public:
  virtual ~PositionPooling() = default;
  virtual const PositionWindows& windows() const = 0;
  /// Makes the arrays of its own.
  virtual void begin(bool by_filter) = 0;
  virtual void write(const PositionArrays& arrays) = 0;
};

}  // namespace thtrain
