// How the windows of the pooling ops lie over the last axes of an image.
#pragma once

#include <span>

#include "compiler/ir/op.h"

namespace thtrain {

/// One number for each pooled axis. Window j of an axis covers its positions j * stride - before + [0, window).
struct PoolWindows {
  Ints window, stride, before, after;
  bool ignore_border = true;

  static PoolWindows of(const Props& props);
  static PoolWindows of(const Node& node) { return of(node.props); }
  void add_to(Props& props) const;

  size_t axes() const { return window.size(); }
  /// How many windows lie along pooled axis k of that length.
  Dim count(size_t k, const Dim& length) const;
  /// The lengths of what is pooled from these.
  Dims pooled(const Dims& image) const;
  /// The most windows that one element is in.
  int64_t sharing() const;
  /// UserError where no window lies over images of these lengths; what only a call can tell is checked there.
  void require_fit(const TypeArgs& args, const Dims& image) const;

  /// Calls f(offset) for the elements of window `at` (an index of the pooled value) inside a row-major image of that
  /// shape, in row-major order.
  template <class F>
  void each_inside(const Shape& image, const Shape& at, F f) const {
    const size_t leading = image.size() - axes();
    const Shape strides = row_major_strides(image);
    for_each_index(window, [&](const Shape& in_window) {
      int64_t offset = 0;
      for (size_t axis = 0; axis < image.size(); ++axis) {
        int64_t position = at[axis];
        if (axis >= leading) {
          const size_t k = axis - leading;
          position = position * stride[k] - before[k] + in_window[k];
          if (position < 0 || position >= image[axis]) return;
        }
        offset += position * strides[axis];
      }
      f(offset);
    });
  }
};

/// What sums of windows are divided by.
enum class PoolDivisor : uint8_t { kOne, kInside, kPadded };
/// The property "divisor": "one", "inside", "padded".
std::string_view name_of(PoolDivisor divisor);
PoolDivisor divisor_of(const Props& props);

/// The divisor of window `at` over a row-major image of that shape.
int64_t divisor_of(const PoolWindows& windows, PoolDivisor divisor, const Shape& image, const Shape& at);

}  // namespace thtrain
