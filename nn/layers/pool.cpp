#include "nn/layers/pool.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/activations.h"

namespace thtrain {

// A window that covers padding alone would have no maximum, and no average.
static void check_pool(const Pool::Options& c, Findings& findings) {
  const Section& section = c.section;
  const Pool::Options plain;
  auto has_no_effect = [&](const char* key, bool is_plain) {
    if (c.global && !is_plain)
      findings.add({.what = str(section.name_of(key), " has no effect"),
                    .expected = "global = false",
                    .config = section.at(key),
                    .hint = "a global layer has one window, the whole image"});
  };
  has_no_effect("size", c.window.size == plain.window.size);
  has_no_effect("stride", c.window.stride == plain.window.stride);
  has_no_effect("padding", c.window.padding == plain.window.padding);
  has_no_effect("ignore_border", c.ignore_border == plain.ignore_border);
  for (const WindowAxis& axis : axes_of(c.window, true)) {
    if (axis.before < axis.size && axis.after < axis.size) continue;
    findings.add({.what = str(section.name_of("padding"), " is too large: a window could lie beyond the image"),
                  .expected = str("less than ", axis.size, ", the window's size"),
                  .got = std::to_string(std::max(axis.before, axis.after)),
                  .config = section.at("padding")});
    return;
  }
}

void Pool::Options::describe(Fields<Options>& f) {
  f.about("The maximum, average or sum of each window of an image, in each channel: y = activation(pooled + b).");
  describe_layer(f);
  describe_size(f.part(&Options::window)).help("Rows and columns of a window.");
  describe_window(f, static_cast<ImageWindow LayerOptions::*>(&Options::window), "window",
                  "the size, so that windows do not overlap");
  f.choice("mode", &Options::mode,
           {{"max", PoolMode::kMax},
            {"average", PoolMode::kAverage},
            {"average_padded", PoolMode::kAveragePadded},
            {"sum", PoolMode::kSum}})
      .synonyms({"pool_mode", "pooling"})
      .help("What becomes of a window. `average_padded` counts the padding as zeros, `average` leaves it out.");
  f.field("ignore_border", &Options::ignore_border)
      .help("Whether rows and columns at the end that fill no window are left out; else a smaller window has them.");
  f.field("global", &Options::global)
      .help("Whether the whole image is one window, so that an example becomes a row of one number for each channel.");
  f.field("activation", &Options::activation)
      .one_of(elementwise_activations())
      .synonyms({"nonlinearity"})
      .help("Function that is applied to each output.");
  f.field("bias", &Options::bias).help("Whether each channel has a bias b that is added, which starts at 0.");
  describe_image_shape(f);
  describe_trained(f);
  f.check(check_pool);
}

static PoolOptions pool_options(const Pool::Options& options) {
  const std::array<WindowAxis, 2> axes = axes_of(options.window, true);
  return {.window = {axes[0].size, axes[1].size},
          .stride = {axes[0].stride, axes[1].stride},
          .padding = {{axes[0].before, axes[0].after}, {axes[1].before, axes[1].after}},
          .ignore_border = options.ignore_border,
          .mode = options.mode};
}

static Shape pooled_shape(const Pool::Options& options, const LayerInput& input) {
  constexpr std::string_view kType = Pool::Options::kName;
  const Shape image = image_of(kType, options, input, options.image_shape);
  if (options.global) return {image[0]};
  if (options.ignore_border) check_fit(kType, options, input, image, axes_of(options.window, true), "window");
  return example_shape(pool(image_variable(image, input.dtype), pool_options(options)));
}

Pool::Pool(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, pooled_shape(options, input)),
      image_(image_of(Options::kName, options, input, options.image_shape)),
      mode_(options.mode),
      activation_(options.activation) {
  if (!options.global) options_ = pool_options(options);
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {image_[0]}), input.dtype, false).expr();
}

Expr Pool::forward(std::span<const Expr> inputs, LayerPass&) const {
  const Expr x = as_images(inputs[0], image_);
  Expr z = options_ ? pool(x, *options_) : global_pool(x, 2, mode_);
  if (b_.has_value()) z = z + (options_ ? broadcast_to_images(b_) : b_);
  return apply_activation(activation_, z);
}

LayerKind pool_layer() {
  return layer_kind<Pool>();
}

}  // namespace thtrain
