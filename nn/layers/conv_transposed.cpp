#include "nn/layers/conv_transposed.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/activations.h"

namespace thtrain {

void ConvTransposed::Options::describe(Fields<Options>& f) {
  f.about(
      "The transposed convolution: every element of an image adds a filter to the result, `stride` elements further "
      "for the next one, so that images grow. Padding is taken away from the result.");
  describe_layer(f);
  describe_filters(f);
}

static Shape transposed_shape(const ConvTransposed::Options& options, const LayerInput& input) {
  constexpr std::string_view kType = ConvTransposed::Options::kName;
  const Shape image = image_of(kType, options, input, options.image_shape);
  check_groups(options, options.groups, image);
  Shape out = {options.units};
  const std::array<WindowAxis, 2> axes = axes_of(options.window);
  for (size_t axis = 0; axis < 2; ++axis)
    out.push_back((image[axis + 1] - 1) * axes[axis].stride + axes[axis].span() - axes[axis].before - axes[axis].after);
  if (out[1] < 1 || out[2] < 1)
    fail_layer(kType, options, input, "images of which the padding leaves something",
               str("they would become ", sides_text(out[1], out[2])));
  check_units(options, options.units, image[0] / options.groups * axes[0].size * axes[1].size, input.dtype);
  return out;
}

ConvTransposed::ConvTransposed(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, transposed_shape(options, input)),
      image_(image_of(Options::kName, options, input, options.image_shape)),
      options_(conv_options(options)),
      activation_(options.activation) {
  const std::array<WindowAxis, 2> axes = axes_of(options.window);
  const Shape shape = {image_[0], options.units / options.groups, axes[0].size, axes[1].size};
  const int64_t taps = shape[2] * shape[3], outputs = options.init_outputs.value_or(shape[1] * taps);
  const Tensor w = draw_weights(options.init, shape, shape[0] / options.groups * taps, outputs, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
}

Expr ConvTransposed::forward(std::span<const Expr> inputs, LayerPass&) const {
  Expr z = conv_transposed(as_images(inputs[0], image_), w_, options_);
  if (b_.has_value()) z = z + broadcast_to_images(b_);
  return apply_activation(activation_, z);
}

LayerKind conv_transposed_layer() {
  return layer_kind<ConvTransposed>();
}

}  // namespace thtrain
