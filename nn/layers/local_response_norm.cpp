#include "nn/layers/local_response_norm.h"

#include "compiler/ops/nnet/normalization.h"

namespace thtrain {

void LocalResponseNorm::Options::describe(Fields<Options>& f) {
  f.about("y = x / (k + alpha s)^beta, s the sum of x^2 over neighbouring channels of an image.");
  describe_layer(f);
  f.field("channels", &Options::channels)
      .range(between(1, kLongestSide))
      .synonyms({"size", "n", "depth_radius"})
      .help("How many channels are summed: as many before as behind, one more before where the number is even.");
  f.field("k", &Options::k).range(above(0)).help("What is added to the sum, so that it is never 0.");
  f.field("alpha", &Options::alpha).range(at_least(0)).help("Factor of the sum; PyTorch divides it by `channels`.");
  f.field("beta", &Options::beta).range(at_least(0)).help("Exponent.");
}

LocalResponseNorm::LocalResponseNorm(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, image_of(Options::kName, options, input)),
      channels_(options.channels),
      k_(options.k),
      alpha_(options.alpha),
      beta_(options.beta) {}

Expr LocalResponseNorm::forward(std::span<const Expr> inputs, LayerPass&) const {
  return local_response_normalization(as_images(inputs[0], output_shape()),
                                      {.channels = channels_, .k = k_, .alpha = alpha_, .beta = beta_});
}

LayerKind local_response_norm_layer() {
  return layer_kind<LocalResponseNorm>();
}

}  // namespace thtrain
