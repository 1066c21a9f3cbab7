#include "datasets/augmentation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "datasets/split_mix.h"

namespace thtrain {

Augmentation::Augmentation(const AugmentConfig& config, const ImageShape& image, uint64_t seed, uint64_t part)
    : config_(config), image_(image), seed_(seed), part_(part) {
  crop_ = config.image_crop().value_or(
      ImageCrop{.height = image[1], .width = image[2], .border = config.border, .where = config.position});
  crop_.check(image);
  if (config.shift >= std::min(image[1], image[2]))
    throw UserError({.what = "trainer.augment.shift moves whole images away",
                     .expected = str("at most ", std::min(image[1], image[2]) - 1, " (pixels): the images are ",
                                     image[1], 'x', image[2], " pixels"),
                     .got = std::to_string(config.shift),
                     .config = config.at("shift")});
}

// What is drawn for one image.
struct Augmentation::Draw {
  Window window;
  double angle = 0;
  SplitMix noise;

  Draw(const AugmentConfig& config, const ImageShape& image, const ImageCrop& crop, SplitMix random) : noise(random) {
    auto even = [&](int64_t most) {
      return static_cast<int64_t>(noise.below(2 * static_cast<uint64_t>(most) + 1)) - most;
    };
    auto first = [&](int64_t pixels, int64_t taken) {
      return static_cast<int64_t>(noise.below(static_cast<uint64_t>(pixels + 2 * crop.padding - taken + 1))) -
             crop.padding;
    };
    const int64_t down = even(config.shift), right = even(config.shift);
    window = {.height = crop.height, .width = crop.width};
    window.first_row = first(image[1], crop.height) - down;
    window.first_column = first(image[2], crop.width) - right;
    const bool upside_down = noise.below(2) == 1, left_to_right = noise.below(2) == 1;
    using Flip = AugmentConfig::Flip;
    window.flip_rows = upside_down && (config.flip == Flip::kVertical || config.flip == Flip::kBoth);
    window.flip_columns = left_to_right && (config.flip == Flip::kHorizontal || config.flip == Flip::kBoth);
    angle = config.rotation * (2 * noise.uniform() - 1) * std::numbers::pi / 180;
  }
};

namespace {

// Of the pixels around (y, x) of one channel.
template <class T>
double bilinear(const T* channel, int64_t height, int64_t width, double y, double x, Border border) {
  const double top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
  const auto i = static_cast<int64_t>(top), j = static_cast<int64_t>(left);
  if (i >= 0 && j >= 0 && i + 1 < height && j + 1 < width) {
    const T *upper = channel + i * width + j, *lower = upper + width;
    return (1 - down) * ((1 - right) * static_cast<double>(upper[0]) + right * static_cast<double>(upper[1])) +
           down * ((1 - right) * static_cast<double>(lower[0]) + right * static_cast<double>(lower[1]));
  }
  auto at = [&](int64_t row, int64_t column) {
    const int64_t r = pixel_at(row, height, border), c = pixel_at(column, width, border);
    return r < 0 || c < 0 ? 0.0 : static_cast<double>(channel[r * width + c]);
  };
  return (1 - down) * ((1 - right) * at(i, j) + right * at(i, j + 1)) +
         down * ((1 - right) * at(i + 1, j) + right * at(i + 1, j + 1));
}

template <class T>
void add_noise(double deviation, SplitMix& random, T* values, int64_t count) {
  for (int64_t i = 0; i < count; i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log(1 - random.uniform()));
    const double turn = 2 * std::numbers::pi * random.uniform();
    values[i] = static_cast<T>(static_cast<double>(values[i]) + radius * std::cos(turn));
    if (i + 1 < count) values[i + 1] = static_cast<T>(static_cast<double>(values[i + 1]) + radius * std::sin(turn));
  }
}

}  // namespace

template <class T>
void Augmentation::rotate(const T* from, const Window& window, double angle, T* into) const {
  const auto [channels, height, width] = image_;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double middle_row = static_cast<double>(height - 1) / 2, middle_column = static_cast<double>(width - 1) / 2;
  for (int64_t c = 0; c < channels; ++c, from += height * width)
    for (int64_t i = 0; i < window.height; ++i) {
      const int64_t row = window.first_row + (window.flip_rows ? window.height - 1 - i : i);
      const double p = static_cast<double>(row) - middle_row;
      for (int64_t j = 0; j < window.width; ++j) {
        const int64_t column = window.first_column + (window.flip_columns ? window.width - 1 - j : j);
        const double q = static_cast<double>(column) - middle_column;
        *into++ = static_cast<T>(bilinear(from, height, width, middle_row + p * cosine + q * sine,
                                          middle_column - p * sine + q * cosine, config_.border));
      }
    }
}

template <class T>
void Augmentation::change(const T* from, Draw& draw, T* into) const {
  if (config_.rotation > 0)
    rotate(from, draw.window, draw.angle, into);
  else
    copy_window(from, image_, draw.window, config_.border, into);
  if (config_.noise > 0) add_noise(config_.noise, draw.noise, into, image_[0] * crop_.height * crop_.width);
}

void Augmentation::apply(const Tensor& from, std::span<const int64_t> examples, int64_t epoch, Tensor into) const {
  const auto count = std::ssize(examples);
  const int64_t taken = image_[0] * image_[1] * image_[2], given = image_[0] * crop_.height * crop_.width;
  TH_CHECK(from.is_contiguous() && into.is_contiguous() && from.dtype() == into.dtype() &&
               from.size() == count * taken && into.size() == count * given,
           from.type_text(), " to ", into.type_text(), " for ", count, " images");
  const uint64_t key = SplitMix::of(seed_, part_, static_cast<uint64_t>(epoch)).next();
  auto change_all = [&]<class T>(const T* source, T* target) {
    for (int64_t example : examples) {
      Draw draw(config_, image_, crop_, SplitMix::of(key, 0, static_cast<uint64_t>(example)));
      change(source, draw, target);
      source += taken;
      target += given;
    }
  };
  if (from.dtype() == DType::kFloat32)
    change_all(static_cast<const float*>(from.raw()), into.data<float>());
  else
    change_all(static_cast<const double*>(from.raw()), into.data<double>());
}

// ---- [trainer.augment] ---------------------------------------------------------------------------------------------

std::optional<ImageCrop> AugmentConfig::image_crop() const {
  if (crop.empty()) return std::nullopt;
  return ImageCrop{
      .height = crop.at(0), .width = crop.at(1), .padding = padding, .border = border, .where = at("crop")};
}

void AugmentConfig::describe(Fields<AugmentConfig>& f) {
  using C = AugmentConfig;
  f.about(
      "Random changes of the training images, which differ from epoch to epoch: first the image is rotated, then "
      "shifted, then a part is cut out of it, then that is mirrored, then noise is added. Validation, test and the "
      "training error that is measured after an epoch see the images as they are, cut to the middle where there is a "
      "`crop`. What is drawn follows from `seed`, the epoch and the number of the example alone. Images are examples "
      "`[height, width]` or `[channels, height, width]`, or rows with `data.image_shape`; they are changed after "
      "`data.scale`, and before `data.standardize`.");
  f.field("shift", &C::shift)
      .range(between(0, kLargestImageSide))
      .unit("pixels")
      .synonyms({"translate", "translation", "shift_range"})
      .help("Move the image up to so many pixels up or down, and left or right.");
  f.choice(
       "flip", &C::flip,
       {{"none", Flip::kNone}, {"horizontal", Flip::kHorizontal}, {"vertical", Flip::kVertical}, {"both", Flip::kBoth}})
      .synonyms({"mirror", "hflip", "horizontal_flip", "fliplr"})
      .help("Mirror the image with probability 1/2: left to right, upside down, or each of both by itself.");
  f.field("crop", &C::crop)
      .range(between(1, kLargestImageSide))
      .unit("pixels")
      .synonyms({"crop_size", "random_crop"})
      .help(
          "`[height, width]` of a part of the padded image, any with equal chances. The model takes examples of this "
          "size: of all others, the part in the middle. Empty: the whole image.");
  f.field("padding", &C::padding)
      .range(between(0, kLargestImageSide))
      .unit("pixels")
      .synonyms({"pad"})
      .help("Pixels that are put on each side of the image before `crop`.");
  f.field("rotation", &C::rotation)
      .range(between(0, 180))
      .unit("degrees")
      .synonyms({"rotate", "degrees", "rotation_range"})
      .help("Turn the image around its middle by an angle up to this, to either side; values are bilinear.");
  f.field("noise", &C::noise)
      .range(at_least(0))
      .synonyms({"noise_std", "gaussian_noise", "sigma"})
      .help("Standard deviation of the normal numbers that are added to the scaled pixels.");
  f.choice("border", &C::border,
           {{"constant", Border::kConstant}, {"edge", Border::kEdge}, {"reflect", Border::kReflect}})
      .synonyms({"padding_mode", "fill_mode", "mode"})
      .help(
          "What is beyond the edges of an image: 0, the pixel at the edge, or the image mirrored at the pixel at "
          "the edge.");
  f.check([](const C& c, Findings& findings) {
    if (!c.crop.empty() && c.crop.size() != 2)
      findings.add({.what = str(c.name_of("crop"), " is no size"),
                    .expected = "[height, width]",
                    .got = str('[', join(c.crop, ", "), ']'),
                    .config = c.at("crop")});
    if (c.padding > 0 && c.crop.empty())
      findings.add({.what = str(c.name_of("padding"), " has no effect"),
                    .expected = str(c.name_of("crop"), " = [height, width]"),
                    .config = c.at("padding")});
    if (c.border != Border::kConstant && c.shift == 0 && c.padding == 0 && c.rotation == 0)
      findings.add({.what = str(c.name_of("border"), " has no effect"),
                    .expected = "a shift, padding or rotation above 0",
                    .config = c.at("border")});
  });
}

}  // namespace thtrain
