// Convolutions of images, their two gradients, and transposed convolutions.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

/// How many zeros are around an image. `valid`: none, the filter stays inside. `full`: a window for every overlap
/// with the image. `half`: as many on both sides as half the filter spans, so that odd filters with stride 1 keep the
/// lengths. `causal`: before the image as many as the filter spans but one, and none behind it: no position sees what
/// comes after it, and with stride 1 the lengths are kept.
class ConvPadding {
 public:
  enum class Kind : uint8_t { kValid, kFull, kHalf, kCausal, kNumbers };

  ConvPadding() = default;
  static ConvPadding valid() { return {}; }
  static ConvPadding full() { return ConvPadding(Kind::kFull, {}); }
  static ConvPadding half() { return ConvPadding(Kind::kHalf, {}); }
  static ConvPadding causal() { return ConvPadding(Kind::kCausal, {}); }
  /// So many before and after each spatial axis.
  static ConvPadding zeros(std::vector<std::pair<int64_t, int64_t>> numbers) {
    return ConvPadding(Kind::kNumbers, std::move(numbers));
  }

  Kind kind() const { return kind_; }
  const std::vector<std::pair<int64_t, int64_t>>& numbers() const { return numbers_; }

 private:
  ConvPadding(Kind kind, std::vector<std::pair<int64_t, int64_t>> numbers)
      : kind_(kind), numbers_(std::move(numbers)) {}
  Kind kind_ = Kind::kValid;
  std::vector<std::pair<int64_t, int64_t>> numbers_;
};

/// Options of a convolution of image and filters; a number for each spatial axis.
struct ConvOptions {
  ConvPadding padding = {};
  std::vector<int64_t> stride = {}, dilation = {};  // empty: 1 in all axes. Dilation: between taps of the filter
  int64_t groups =
      1;             // of channels; group g of the filters sees group g of the image's channels. groups = C: depthwise
  bool flip = true;  // a true convolution, whose filters are flipped; false: correlation
  bool unshared = false;  // filters of their own for every position: w [F, O..., C / groups, K...]
};

/// Images x [N, C, S...] with filters w [F, C / groups, K...] -> [N, F, O...], of one, two or three spatial axes and
/// one floating dtype: y[n, f, o] = sum over c, k of x[n, c, o stride + k dilation - before] w[f, c, K - 1 - k]
/// (without `flip` w[f, c, k]), 0 outside of the image. O = floor((S + before + after - (K - 1) dilation - 1) / stride)
/// + 1. UserError where the filter does not fit into the padded image, or channels do not divide by the groups.
/// Derivatives: conv_input_gradient and conv_weight_gradient, which have derivatives of their own.
Expr conv(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// conv of one spatial axis: x [N, C, W], w [F, C / groups, K].
Expr conv1d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// conv of two spatial axes: x [N, C, H, W], w [F, C / groups, KH, KW].
Expr conv2d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// conv of three spatial axes: x [N, C, D, H, W], w [F, C / groups, KD, KH, KW].
Expr conv3d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// conv1d with ConvPadding::causal(): sequences x [N, C, T], w [F, C / groups, K] -> [N, F, ceil(T / stride)]; step t
/// of the result sees the steps t stride - k dilation of x, k = 0 ... K - 1, 0 before the first (van den Oord et al.,
/// WaveNet, 2016). UserError where the options have a padding.
Expr causal_conv1d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// A convolution with filters of each channel's own, and one of single positions after it that mixes them (Chollet,
/// Xception, 2017): images x [N, C, H, W], depthwise [C m, 1, KH, KW], of which channel c sees filters c m to
/// c m + m - 1, pointwise [F, C m, 1, 1] -> [N, F, O...]. The options are those of the first; their groups are C.
/// UserError where the options have groups, the filters are unshared, C is known to the call only, or `pointwise` has
/// taps.
Expr separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise,
                      const ConvOptions& options = {});
/// The same of three spatial axes: x [N, C, D, H, W], depthwise [C m, 1, KD, KH, KW], pointwise [F, C m, 1, 1, 1].
Expr separable_conv3d(const Operand& x, const Operand& depthwise, const Operand& pointwise,
                      const ConvOptions& options = {});
/// The transposed convolution: what conv of images of those spatial lengths, with the same options, has as gradient to
/// its images, for dy [N, F, O...] as that of its result. -> [N, C, lengths...]. Without lengths: the least that
/// give O.
Expr conv_transposed(const Operand& dy, const Operand& w, const ConvOptions& options = {}, const Dims& lengths = {});
/// The gradient of conv to its filters, whose spatial lengths are `lengths`: x [N, C, S...], dy [N, F, O...] -> w's
/// shape.
Expr conv_weight_gradient(const Operand& x, const Operand& dy, const Dims& lengths, const ConvOptions& options = {});

// ---- for other parts of the compiler -------------------------------------------------------------------------------

// Correlations; the builders flip filters before and after.
const Op& conv_op();                  // inputs x, w
const Op& conv_input_gradient_op();   // inputs w, dy; property "lengths": those of x
const Op& conv_weight_gradient_op();  // inputs x, dy; property "lengths": those of w

}  // namespace thtrain
