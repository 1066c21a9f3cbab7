// Local response normalization: each element of an image compared with those of neighbouring channels.
#pragma once

#include "nn/images.h"

namespace thtrain {

/// y[c] = x[c] / (k + alpha sum of x[d]^2)^beta, the sum over `channels` channels d around c, those that exist. x and
/// y: images [batch, channels, height, width]. No parameters. A. Krizhevsky, I. Sutskever, G. E. Hinton, "ImageNet
/// classification with deep convolutional neural networks", 2012, section 3.3, whose constants are the defaults;
/// PyTorch divides alpha by the number of channels. UserError where an example is no image.
class LocalResponseNorm : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = LocalResponseNorm;
    static constexpr std::string_view kName = "local_response_norm";
    int64_t channels = 5;
    double k = 2, alpha = 1e-4, beta = 0.75;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesImages = true;
  LocalResponseNorm(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t channels_;
  double k_, alpha_, beta_;
};

}  // namespace thtrain
