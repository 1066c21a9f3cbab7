// Images with more rows and columns.
#pragma once

#include "nn/images.h"

namespace thtrain {

/// Images with `factor` times as many rows and columns: each element repeated, or interpolated linearly between
/// neighbours (nearest_upsampling and bilinear_upsampling of compiler/ops/image/upsample.h). x: [batch, channels,
/// height, width], y: [batch, channels, height factor, width factor]. No parameters. UserError where an example is no
/// image.
class Upsample : public Layer {
 public:
  enum class Mode { kNearest, kBilinear };
  struct Options : LayerOptions {
    using Makes = Upsample;
    static constexpr std::string_view kName = "upsample";
    int64_t factor = 2;
    Mode mode = Mode::kNearest;
    std::vector<int64_t> image_shape = {};
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesImages = true;
  Upsample(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Shape image_;
  int64_t factor_;
  Mode mode_;
};

}  // namespace thtrain
