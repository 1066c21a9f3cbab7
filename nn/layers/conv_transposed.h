// A transposed convolution: the way back from the images that a convolution gives.
#pragma once

#include "nn/layers/filters.h"

namespace thtrain {

/// y = activation(b + the gradient to its images that the layer conv with these filters has for x): every element of x
/// adds its filter to y, `stride` elements further for the next one. V. Dumoulin, F. Visin, "A guide to convolution
/// arithmetic for deep learning", 2016, chapter 4; PyTorch's ConvTranspose2d.
/// x: images [batch, channels, height, width], W: [channels, units / groups, rows, columns] "<name>/W", b: [units]
/// "<name>/b", y: [batch, units, ...], each length (length - 1) stride + span - padding with span = (size - 1) dilation
/// + 1: padding is taken away. b starts at 0, W as `init` says with channels / groups * taps inputs and units * taps /
/// groups outputs. UserError where an example is no image, where padding takes everything away, and where the groups do
/// not divide the channels.
class ConvTransposed : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = ConvTransposed;
    static constexpr std::string_view kName = "conv_transposed";
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
  ConvTransposed(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Shape image_;
  ConvOptions options_;
  std::string activation_;
  Expr w_, b_;  // b_ is empty without a bias
};

}  // namespace thtrain
