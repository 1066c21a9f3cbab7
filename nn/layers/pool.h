// Pooling of images.
#pragma once

#include "compiler/ops/pool/pool.h"
#include "nn/images.h"

namespace thtrain {

/// y = activation(p + b), p the maximum, the average or the sum of each window of each channel. An average divides by
/// the elements of the window that are inside the image, or with `average_padded` inside the padded image. Padding is
/// never the maximum; of equal maxima the first in row-major order gets the derivative.
/// x: images [batch, channels, height, width], y: [batch, channels, ...], each length floor((length + padding - size) /
/// stride) + 1, or without `ignore_border` as many more windows as begin inside the image; b: [channels] "<name>/b"
/// starts at 0. `global`: one window that is the whole image, y: [batch, channels]; there each of equal maxima gets the
/// derivative. UserError where an example is no image or smaller than a window.
class Pool : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Pool;
    static constexpr std::string_view kName = "pool";
    ImageWindow window = {.size = {2}};
    PoolMode mode = PoolMode::kMax;
    bool ignore_border = true;
    bool global = false;
    std::string activation = "linear";  // see nn/activations.h
    bool bias = false;
    std::vector<int64_t> image_shape = {};
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesImages = true;
  Pool(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Shape image_;
  std::optional<PoolOptions> options_;  // none: global
  PoolMode mode_;
  std::string activation_;
  Expr b_;  // empty without a bias
};

}  // namespace thtrain
