#include "nn/layers/conv.h"

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/activations.h"

namespace thtrain {

void Conv::Options::describe(Fields<Options>& f) {
  f.about(
      "Filters that move over images, y = activation(x * W + b): each of them gives a channel of a new image. The "
      "images are those of the layer before it, or of the data.");
  describe_layer(f);
  describe_filters(f);
}

static Shape filter_shape(const Conv::Options& options, const Shape& image) {
  const std::array<WindowAxis, 2> axes = axes_of(options.window);
  return {options.units, image[0] / options.groups, axes[0].size, axes[1].size};
}

static Shape conv_shape(const Conv::Options& options, const LayerInput& input) {
  constexpr std::string_view kType = Conv::Options::kName;
  const Shape image = image_of(kType, options, input, options.image_shape);
  check_groups(options, options.groups, image);
  check_fit(kType, options, input, image, axes_of(options.window), "filter");
  const Shape filters = filter_shape(options, image);
  check_units(options, options.units, filters[1] * filters[2] * filters[3], input.dtype);
  const Expr w = tensor("filters", Dims(filters.begin(), filters.end()), input.dtype);
  return example_shape(conv(image_variable(image, input.dtype), w, conv_options(options)));
}

Conv::Conv(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, conv_shape(options, input)),
      image_(image_of(Options::kName, options, input, options.image_shape)),
      options_(conv_options(options)),
      activation_(options.activation) {
  const Shape shape = filter_shape(options, image_);
  const int64_t taps = shape[2] * shape[3], outputs = options.init_outputs.value_or(shape[0] * taps / options.groups);
  const Tensor w = draw_weights(options.init, shape, shape[1] * taps, outputs, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
}

Expr Conv::forward(std::span<const Expr> inputs, LayerPass&) const {
  Expr z = conv(as_images(inputs[0], image_), w_, options_);
  if (b_.has_value()) z = z + broadcast_to_images(b_);
  return apply_activation(activation_, z);
}

LayerKind conv_layer() {
  return layer_kind<Conv>();
}

}  // namespace thtrain
