// What the three convolutions share: how taps, positions and padding belong together, and the types that fit.
#pragma once

#include <functional>

#include "compiler/ir/op.h"

namespace thtrain {

/// The properties of a convolution's node: a number for each spatial axis.
struct ConvGeometry {
  Ints stride, dilation;
  Dims before, after;  // zeros around the image; those of half and full padding follow from the filter's lengths
  int64_t groups = 1;
  bool unshared = false;

  static ConvGeometry of(const Props& props);
  void add_to(Props& props) const;

  size_t rank() const { return stride.size(); }
  /// Of the padded image, how many elements a filter of that length spans.
  Dim span(size_t axis, const Dim& kernel) const { return (kernel - Dim(1)) * Dim(dilation[axis]) + Dim(1); }
  Dim output_length(size_t axis, const Dim& input, const Dim& kernel) const;
};

/// The lengths of images x [n, c, in...], filters w [f, c / groups, kernel...] and results y [n, f, out...].
struct ConvLengths {
  Dim n, c, f;
  Dims in, kernel, out;

  Dims of_x() const;
  Dims of_y() const;
  Dims of_w(const ConvGeometry& geometry) const;
};

/// The last `count` lengths; ones, where there are fewer.
Dims last(const Dims& dims, size_t count);
/// From the types of a node's inputs and its properties.
ConvLengths conv_lengths(const TypeArgs& args, const Type& x, const Type& w);
ConvLengths conv_input_lengths(const TypeArgs& args, const Type& w, const Type& dy);
ConvLengths conv_weight_lengths(const TypeArgs& args, const Type& x, const Type& dy);
/// Of a node of one of the three ops.
ConvLengths lengths_of_conv(const Node& node);

/// Calls `term` for every product x[i] w[j] that y[k] sums, by their row-major positions. `before`: the padding's
/// values.
void for_each_conv_term(const ConvGeometry& geometry, const Ints& before, const Shape& x, const Shape& w,
                        const Shape& y, const std::function<void(int64_t i, int64_t j, int64_t k)>& term);

/// Operations of one of the three, and the bytes of all its operands.
Cost conv_cost(const Node& node);

}  // namespace thtrain
