// A convolution of images.
#pragma once

#include "nn/layers/filters.h"

namespace thtrain {

/// y[n, f, i, j] = activation(b[f] + sum over c, k, l of W[f, c, k, l] x[n, c, i stride + k dilation - padding, j
/// ...]), 0 outside of the image: a correlation, as in other programs; with `flip` a convolution, whose filters are
/// turned by 180 degrees. Of several groups, group g of the filters sees group g of the channels. x: images [batch,
/// channels, height, width], W: [units, channels / groups, rows, columns] "<name>/W", b: [units]
/// "<name>/b", y: [batch, units, ...], each length floor((length + padding - span) / stride) + 1 with span = (size - 1)
/// dilation + 1; all of one floating dtype. Gradients: those of conv() (compiler/ops/conv/conv.h); db = sum of dz over
/// batch, rows and columns.
/// b starts at 0, W as `init` says with channels / groups * taps inputs and units * taps / groups outputs. UserError
/// where an example is no image or smaller than the filter, and where the groups do not divide the channels.
class Conv : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Conv;
    static constexpr std::string_view kName = "conv";
    int64_t units = 1;
    ImageWindow window = {};
    int64_t groups = 1;
    bool flip = false;
    std::string activation = "linear";  // see nn/activations.h
    bool bias = true;
    std::vector<int64_t> image_shape = {};
    Init init = {};
    std::optional<int64_t> init_outputs = {};
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesImages = true;
  Conv(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Shape image_;
  ConvOptions options_;
  std::string activation_;
  Expr w_, b_;  // b_ is empty without a bias
};

}  // namespace thtrain
