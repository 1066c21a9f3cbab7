#include "nn/layers/upsample.h"

#include "compiler/ops/image/upsample.h"

namespace thtrain {

static constexpr double kLargestFactor = 1000;

void Upsample::Options::describe(Fields<Options>& f) {
  f.about("Images with more rows and columns.");
  describe_layer(f);
  f.field("factor", &Options::factor)
      .range(between(1, kLargestFactor))
      .synonyms({"scale_factor", "ratio", "size", "scale"})
      .help("Rows and columns for each one of the image.");
  f.choice("mode", &Options::mode, {{"nearest", Mode::kNearest}, {"bilinear", Mode::kBilinear}})
      .synonyms({"interpolation"})
      .help("Whether elements are repeated, or those between them interpolated linearly.");
  describe_image_shape(f);
}

static Shape larger(const Upsample::Options& options, const LayerInput& input) {
  const Shape image = image_of(Upsample::Options::kName, options, input, options.image_shape);
  return {image[0], image[1] * options.factor, image[2] * options.factor};
}

Upsample::Upsample(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, larger(options, input)),
      image_(image_of(Options::kName, options, input, options.image_shape)),
      factor_(options.factor),
      mode_(options.mode) {}

Expr Upsample::forward(std::span<const Expr> inputs, LayerPass&) const {
  const Expr x = as_images(inputs[0], image_);
  return mode_ == Mode::kNearest ? nearest_upsampling(x, factor_) : bilinear_upsampling(x, factor_);
}

LayerKind upsample_layer() {
  return layer_kind<Upsample>();
}

}  // namespace thtrain
