// Noise for denoising autoencoders.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// In training x with noise, otherwise x; [batch, ...], of one shape. Of the kinds
///
///   masking          each element becomes 0 with the probability `rate`
///   salt_and_pepper  each element becomes 0 or 1, both alike, with the probability `rate`
///   gaussian         a normal number of mean 0 and standard deviation `deviation` is added to each element
///
/// Derivatives go through the elements that stay. It keeps a generator of random numbers, "<name>/random"
/// (nn/noise.h). P. Vincent, H. Larochelle, I. Lajoie, Y. Bengio, P.-A. Manzagol, "Stacked denoising autoencoders",
/// 2010, section 3.3.
class Corrupt : public Layer {
 public:
  enum class Noise { kMasking, kSaltAndPepper, kGaussian };
  struct Options : LayerOptions {
    using Makes = Corrupt;
    static constexpr std::string_view kName = "corrupt";
    Noise noise = Noise::kMasking;
    double rate = 0.3;
    double deviation = 0.5;
    static void describe(Fields<Options>& f);
  };
  Corrupt(const Options& options, const LayerInput& input);
  std::vector<Param> generators() const override { return state(); }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Noise noise_;
  double rate_, deviation_;
  Shared random_;
};

}  // namespace thtrain
