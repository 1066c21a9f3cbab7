#include "nn/images.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/variables.h"
#include "compiler/ops/shape/shape.h"
#include "nn/activations.h"

namespace thtrain {

// ---- images --------------------------------------------------------------------------------------------------------

bool looks_channels_last(const Shape& image) {
  constexpr int64_t kMostChannels = 4;
  return image.size() == 3 && image[2] <= kMostChannels && image[0] > kMostChannels && image[1] > kMostChannels;
}

// Of the examples alone: what a layer gives has its channels first.
static bool are_channels_last(const LayerInput& input, const Shape& image) {
  return input.names == std::vector<std::string>{"x"} && looks_channels_last(image);
}

std::string channels_last_hint() {
  return "the examples look like [height, width, channels]; NumPy's x.transpose(0, 3, 1, 2) makes "
         "[channels, height, width] of them";
}

// Of rows of so many numbers: square images of one channel or three, where the numbers are as many.
static std::string shape_hint(int64_t numbers) {
  for (int64_t channels : {1, 3}) {
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(numbers / channels))));
    if (side > 1 && channels * side * side == numbers)
      return str("image_shape = [", channels, ", ", side, ", ", side, "] takes a row of ", numbers,
                 " numbers as an image");
  }
  return "image_shape = [channels, height, width] takes rows of numbers as images";
}

static Shape given_shape(std::string_view type, const LayerOptions& layer, const LayerInput& input, const Shape& from,
                         const std::vector<int64_t>& image_shape) {
  if (image_shape.size() != 3)
    throw UserError(Message{.what = str(layer.section.name_of("image_shape"), " is no shape of images"),
                            .expected = "[channels, height, width]",
                            .got = shape_text(image_shape),
                            .config = layer.section.at("image_shape")});
  if (element_count(from) != element_count(image_shape) || (from.size() == 3 && from != image_shape))
    fail_layer(type, layer, input,
               from.size() == 3 ? str("images of image_shape ", shape_text(image_shape))
                                : str(element_count(image_shape), " numbers for each example, those of image_shape ",
                                      shape_text(image_shape)),
               from.size() != 3                 ? ""
               : are_channels_last(input, from) ? channels_last_hint()
                                                : "without image_shape the layer takes images as they are");
  return image_shape;
}

Shape image_of(std::string_view type, const LayerOptions& layer, const LayerInput& input,
               const std::vector<int64_t>& image_shape) {
  Shape from = only_input(type, layer, input);
  if (input.image) from = Shape(input.image->begin(), input.image->end());
  if (!image_shape.empty()) return given_shape(type, layer, input, from, image_shape);
  if (from.size() == 2) from.insert(from.begin(), 1);
  if (from.size() != 3)
    fail_layer(type, layer, input, "images [channels, height, width]", from.size() == 1 ? shape_hint(from[0]) : "");
  return from;
}

Expr as_images(const Expr& x, const Shape& image) {
  Dims dims = {x.dims()[0]};
  dims.insert(dims.end(), image.begin(), image.end());
  return x.dims() == dims ? x : reshape(x, dims);
}

Expr image_variable(const Shape& image, DType dtype) {
  Dims dims = {"batch"};
  dims.insert(dims.end(), image.begin(), image.end());
  return tensor("images", dims, dtype);
}

Shape example_shape(const Expr& y) {
  Shape out;
  for (size_t axis = 1; axis < y.rank(); ++axis) out.push_back(y.dims()[axis].value());
  return out;
}

Expr broadcast_to_images(const Expr& b) {
  return expand_dims(b, {1, 2});
}

const std::vector<std::string>& elementwise_activations() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out = activation_function_names();
    std::erase(out, "softmax");
    return out;
  }();
  return names;
}

// ---- windows -------------------------------------------------------------------------------------------------------

std::string sides_text(int64_t height, int64_t width) {
  return str(height, " x ", width);
}

static int64_t number_of(const std::vector<int64_t>& numbers, size_t axis) {
  return numbers.empty() ? 1 : numbers[numbers.size() == 1 ? 0 : axis];
}

static int64_t zeros(int64_t padding, int64_t span) {
  return padding == ImageWindow::kHalf ? span / 2 : padding == ImageWindow::kFull ? span - 1 : padding;
}

std::array<WindowAxis, 2> axes_of(const ImageWindow& window, bool steps_by_size) {
  std::array<WindowAxis, 2> out;
  for (size_t axis = 0; axis < 2; ++axis) {
    WindowAxis& w = out[axis];
    w.size = number_of(window.size, axis);
    w.stride = window.stride.empty() && steps_by_size ? w.size : number_of(window.stride, axis);
    w.dilation = number_of(window.dilation, axis);
    const std::vector<int64_t>& padding = window.padding;
    const bool has_sides = padding.size() == 4;
    w.before = zeros(has_sides ? padding[2 * axis] : number_of(padding, axis), w.span());
    w.after = zeros(has_sides ? padding[2 * axis + 1] : number_of(padding, axis), w.span());
  }
  return out;
}

void check_window(const Section& section, const ImageWindow& window, Findings& findings) {
  auto check = [&](const char* key, const std::vector<int64_t>& numbers, bool may_be_empty, bool may_be_four) {
    const size_t count = numbers.size();
    if (count == 1 || count == 2 || (count == 0 && may_be_empty) || (count == 4 && may_be_four)) return;
    findings.add({.what = str(section.name_of(key), " has ", count, " numbers"),
                  .expected = may_be_four ? "one, two (rows and columns) or four (above, below, left, right)"
                                          : "one, or two (rows and columns)",
                  .config = section.at(key)});
  };
  check("size", window.size, false, false);
  check("stride", window.stride, true, false);
  check("dilation", window.dilation, true, false);
  check("padding", window.padding, false, true);
}

void check_fit(std::string_view type, const LayerOptions& layer, const LayerInput& input, const Shape& image,
               const std::array<WindowAxis, 2>& axes, std::string_view what) {
  std::array<int64_t, 2> least = {};
  bool fits = true;
  for (size_t axis = 0; axis < 2; ++axis) {
    least[axis] = std::max<int64_t>(axes[axis].span() - axes[axis].before - axes[axis].after, 1);
    fits = fits && image[axis + 1] >= least[axis];
  }
  if (fits) return;
  const bool is_padded = axes[0].span() != least[0] || axes[1].span() != least[1];
  fail_layer(type, layer, input,
             str("images of at least ", sides_text(least[0], least[1]), ", which its ", what, " spans",
                 is_padded ? " without the padding" : ""),
             are_channels_last(input, image) ? channels_last_hint() : "a smaller size fits, and so does more padding");
}

FieldBuilder describe_size(Fields<ImageWindow> window) {
  return window.field("size", &ImageWindow::size)
      .one_or_list()
      .range(between(1, kLongestSide))
      .synonyms({"kernel_size", "filter_size", "pool_size", "kernel", "ksize", "window", "ws"});
}

void describe_window(Fields<LayerOptions> f, ImageWindow LayerOptions::*window, std::string_view what,
                     std::string_view stride) {
  Fields<ImageWindow> sides = f.part(window);
  sides.field("stride", &ImageWindow::stride)
      .one_or_list()
      .range(between(1, kLongestSide))
      .synonyms({"strides", "subsample", "step"})
      .help(str("Rows and columns from one position of the ", what, " to the next. Empty: ", stride, "."));
  sides.field("padding", &ImageWindow::padding)
      .one_or_list()
      .range(between(0, kLongestSide))
      .words({{"valid", 0}, {"half", ImageWindow::kHalf}, {"full", ImageWindow::kFull}})
      .synonyms({"pad", "border_mode"})
      .help(str("Rows and columns around the image: a number for all sides, two for rows and columns, or four: above, "
                "below, left, right. `half` is half of what the ",
                what, " spans, which keeps lengths where that is odd and the stride 1, and `full` all but one of it."));
  f.check([window](const LayerOptions& c, Findings& findings) { check_window(c.section, c.*window, findings); });
}

}  // namespace thtrain
