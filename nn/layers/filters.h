// What layers of filters that move over images have in common: their keys, and what conv() takes of them.
#pragma once

#include "compiler/ops/conv/conv.h"
#include "nn/images.h"

namespace thtrain {

/// What conv() takes of these options, which have a window, groups and flip.
template <class T>
ConvOptions conv_options(const T& options) {
  const std::array<WindowAxis, 2> axes = axes_of(options.window);
  return {.padding = ConvPadding::zeros({{axes[0].before, axes[0].after}, {axes[1].before, axes[1].after}}),
          .stride = {axes[0].stride, axes[1].stride},
          .dilation = {axes[0].dilation, axes[1].dilation},
          .groups = options.groups,
          .flip = options.flip};
}

/// UserError at the key `groups` where it does not divide the channels of the image.
void check_groups(const LayerOptions& layer, int64_t groups, const Shape& image);
void check_filters(const Section& section, int64_t units, int64_t groups, const Init& init, bool has_init_outputs,
                   Findings& findings);

/// The keys of a layer of filters, but for those of every layer.
template <class T>
void describe_filters(Fields<T>& f) {
  const auto keys = f.group("filters");
  f.field("units", &T::units)
      .range(between(1, kLongestSide))
      .unit("channels")
      .required()
      .synonyms({"filters", "outputs", "out_channels", "num_filters", "num_output", "maps", "nkern", "n_filters"})
      .help("Number of channels that the layer gives.");
  describe_size(f.part(&T::window)).required().help("Rows and columns of a filter.");
  describe_window(f, static_cast<ImageWindow LayerOptions::*>(&T::window), "filter", "1");
  f.part(&T::window)
      .field("dilation", &ImageWindow::dilation)
      .one_or_list()
      .range(between(1, kLongestSide))
      .synonyms({"dilation_rate", "filter_dilation", "dilations"})
      .help("Rows and columns of the image from one tap of the filter to the next. Empty: 1.");
  f.field("groups", &T::groups)
      .range(between(1, kLongestSide))
      .synonyms({"num_groups", "group"})
      .help("Groups of channels that are filtered apart from each other; as many as there are channels: depthwise.");
  f.field("flip", &T::flip)
      .synonyms({"filter_flip", "flip_filters"})
      .help("Whether filters are rotated by 180 degrees: a convolution in the mathematical sense.");
  f.field("activation", &T::activation)
      .one_of(elementwise_activations())
      .synonyms({"nonlinearity"})
      .help("Function that is applied to each output.");
  f.field("bias", &T::bias)
      .synonyms({"use_bias", "bias_term"})
      .help("Whether each channel has a bias b that is added.");
  describe_image_shape(f);
  describe_init(f, &T::init);
  f.field("init_outputs", &T::init_outputs)
      .range(at_least(1))
      .synonyms({"fan_out"})
      .help(
          "Outputs that an input counts for in `glorot_*`. Not given: the units times the taps of a filter, divided by "
          "the groups.");
  f.check([](const T& c, Findings& findings) {
    check_filters(c.section, c.units, c.groups, c.init, c.init_outputs.has_value(), findings);
  });
  describe_trained(f);
}

}  // namespace thtrain
