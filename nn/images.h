// What layers of images ask for and declare: the image that an input is, and windows that move over it.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "nn/layer.h"

namespace thtrain {

/// The most rows, columns and channels that a configuration may ask for.
inline constexpr double kLongestSide = 65535;

// ---- images --------------------------------------------------------------------------------------------------------

/// The [channels, height, width] of the one input: `image_shape`, where the layer's options give one; that of the
/// examples that are images; [channels, height, width] itself, and [height, width] as one channel. UserError where the
/// input is no image, or `image_shape` has other than three numbers or another number of elements.
Shape image_of(std::string_view type, const LayerOptions& layer, const LayerInput& input,
               const std::vector<int64_t>& image_shape = {});

/// Is a shape [a, b, c] more likely one of [height, width, channels] than of [channels, height, width]? At most 4
/// numbers along its last axis, more along both others.
bool looks_channels_last(const Shape& image);
/// What to do about it.
std::string channels_last_hint();

/// x [batch, ...] as images [batch, channels, height, width]. A view.
Expr as_images(const Expr& x, const Shape& image);
/// A variable for a batch of such images, of which builders tell the shape of what they make.
Expr image_variable(const Shape& image, DType dtype);
/// The lengths of y behind the first axis, which are known.
Shape example_shape(const Expr& y);

/// b [channels] for use with images [batch, channels, height, width]: [channels, 1, 1].
Expr broadcast_to_images(const Expr& b);

/// Those that work element by element: all of nn/activations.h but softmax.
const std::vector<std::string>& elementwise_activations();

template <class T>
void describe_image_shape(Fields<T>& f) {
  const auto keys = f.group("shape of the images");
  f.field("image_shape", &T::image_shape)
      .range(between(1, kLongestSide))
      .synonyms({"input_shape", "image_size"})
      .help(
          "`[channels, height, width]` of the images that the layer gets as rows of their pixels. Empty: as the "
          "layer before it or the data has them; an image `[height, width]` has one channel.");
}

// ---- windows -------------------------------------------------------------------------------------------------------

/// A window that moves over rows and columns: one number for both, or one for each.
struct ImageWindow {
  /// Words for the padding of an axis: half of what the window spans, rounded down, and all but one of it.
  static constexpr int64_t kHalf = -1, kFull = -2;

  std::vector<int64_t> size = {};
  std::vector<int64_t> stride = {};    // empty: 1, or where `steps_by_size` the size
  std::vector<int64_t> dilation = {};  // empty: 1
  std::vector<int64_t> padding = {0};  // around all; of rows, of columns; or above, below, left, right
};

/// The same of one axis.
struct WindowAxis {
  int64_t size = 1, stride = 1, dilation = 1, before = 0, after = 0;
  int64_t span() const { return (size - 1) * dilation + 1; }
};

/// Rows and columns. The window is one that check_window() has nothing to say about.
std::array<WindowAxis, 2> axes_of(const ImageWindow& window, bool steps_by_size = false);
/// "5 x 5"
std::string sides_text(int64_t height, int64_t width);

void check_window(const Section& section, const ImageWindow& window, Findings& findings);
/// UserError where the window does not fit into the padded image. `what`: "filter", "window".
void check_fit(std::string_view type, const LayerOptions& layer, const LayerInput& input, const Shape& image,
               const std::array<WindowAxis, 2>& axes, std::string_view what);

FieldBuilder describe_size(Fields<ImageWindow> window);
/// `what`: "filter", "window". The caller declares `size`.
void describe_window(Fields<LayerOptions> f, ImageWindow LayerOptions::*window, std::string_view what,
                     std::string_view stride);

}  // namespace thtrain
