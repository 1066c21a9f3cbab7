// Random changes of training images: each epoch sees every image a little differently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "datasets/images.h"

namespace thtrain {

/// The keys of [trainer.augment].
struct AugmentConfig : Section {
  enum class Flip { kNone, kHorizontal, kVertical, kBoth };
  int64_t shift = 0;
  Flip flip = Flip::kNone;
  std::vector<int64_t> crop;  // [height, width]; none: the image's
  int64_t padding = 0;
  double rotation = 0;  // degrees
  double noise = 0;
  Border border = Border::kConstant;
  static void describe(Fields<AugmentConfig>& f);

  /// Of `crop`, which all sets of examples are cut to; none where it is not given.
  std::optional<ImageCrop> image_crop() const;
};

/// Pixel (i, j) of the result is the value at (y, x) of the image, where
///
///   (a, b) = (i, j), mirrored in the window where the image is flipped
///   (p, q) = (a + crop_y - padding - shift_y, b + crop_x - padding - shift_x)
///   (y, x) = (m + (p - m) cos t + (q - n) sin t, n - (p - m) sin t + (q - n) cos t), around the middle (m, n),
///
/// t > 0 turns the image counterclockwise. A position between pixels has the bilinear value of the four around it,
/// those beyond the edges by `border`, computed in float64. Then noise * N(0, 1) is added to each number. Shifts are
/// uniform integers from -shift to shift, crop_y and crop_x uniform among the windows of the padded image, t is uniform
/// from -rotation to rotation, each flip has probability 1/2. An image's channels are changed alike, but for the noise.
///
/// What is drawn for an example is a function of seed, part, epoch and its number alone: the words of
/// SplitMix::of(mix(seed, part, epoch), 0, example), in the order shift_y, shift_x, crop_y, crop_x, vertical flip,
/// horizontal flip, t, noise, all of them drawn whatever is asked for. Normal numbers come in pairs, by G. E. P. Box
/// and M. E. Muller, "A note on the generation of random normal deviates", 1958.
class Augmentation {
 public:
  /// For images of this shape. UserError: images that are smaller than a shift, or than a crop less its padding.
  Augmentation(const AugmentConfig& config, const ImageShape& image, uint64_t seed, uint64_t part = 0);

  const ImageShape& input() const { return image_; }
  ImageShape output() const { return {image_[0], crop_.height, crop_.width}; }
  /// Image i of `from` [n, input()...] is example examples[i]; the result goes to `into` [n, output()...]. Both are
  /// contiguous, of one float dtype, and may have other lengths of as many numbers.
  void apply(const Tensor& from, std::span<const int64_t> examples, int64_t epoch, Tensor into) const;

 private:
  struct Draw;
  template <class T>
  void change(const T* from, Draw& draw, T* into) const;
  template <class T>
  void rotate(const T* from, const Window& window, double angle, T* into) const;

  AugmentConfig config_;
  ImageShape image_;
  ImageCrop crop_;
  uint64_t seed_, part_;
};

}  // namespace thtrain
