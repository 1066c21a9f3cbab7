// Examples as images: their shape, and the part of them that models take.
#include <algorithm>

#include "datasets/data_config.h"
#include "datasets/dataset.h"

namespace thtrain {

ImageShape require_images(const Split& split, const ConfigPosition& where) {
  if (std::optional<ImageShape> image = split.image_shape()) return *image;
  const bool are_rows = !split.is_sequence() && split.input_shape().size() == 1;
  throw UserError(
      {.what = "trainer.augment changes images, and the examples are none",
       .expected = "examples of [height, width] or [channels, height, width] numbers",
       .got = str(split.is_sequence() ? "sequences, whose steps are " : "examples of ", shape_text(split.step_shape())),
       .config = where,
       .hint = are_rows ? str("data.image_shape, of the sources ", sources_with("image_shape"),
                              ", says that rows are images")
                        : ""});
}

void Split::set_image_shape(const ImageShape& shape, const ConfigPosition& where) {
  if (shape[0] * shape[1] * shape[2] != element_count(input_shape_))
    throw UserError({.what = str("data.image_shape is not that of the examples in ", x_.origin),
                     .expected = str("channels, height and width of ", element_count(input_shape_), " numbers"),
                     .got = str(shape_text(Shape(shape.begin(), shape.end())), ", which are ",
                                shape[0] * shape[1] * shape[2], " numbers"),
                     .config = where});
  Tensor& raw = x_.raw;
  const Shape own = {raw.dim(0), shape[0], shape[1], shape[2]};
  raw = x_.source ? outline(raw.dtype(), own) : raw.contiguous().reshape(own);
  input_shape_ = {shape[0], shape[1], shape[2]};
}

std::optional<ImageShape> Split::image_shape() const {
  return is_sequence_ ? std::nullopt : thtrain::image_shape(input_shape_);
}

void Split::set_crop(const ImageCrop& crop) {
  crop.check(require_images(*this, crop.where));
  crop_ = crop;
  input_shape_.end()[-2] = crop.height;
  input_shape_.end()[-1] = crop.width;
}

Split Split::whole_images() const {
  Split out = *this;
  out.standardizes_inputs_ = false;
  out.crop_.reset();
  out.input_shape_.assign(x_.raw.shape().begin() + 1, x_.raw.shape().end());
  return out;
}

void Split::standardize(Tensor x) const {
  if (standardization_) standardization_->inputs.apply(x);
}

// The whole images are there a few at a time.
void Split::fill_cropped(Tensor into, const RowOf& row_of) const {
  constexpr int64_t kElements = int64_t{1} << 16;
  const ImageShape whole = *whole_images().image_shape();
  const int64_t count = into.dim(0), taken = whole[0] * whole[1] * whole[2], given = element_count(input_shape_);
  const int64_t most = std::clamp<int64_t>(kElements / std::max<int64_t>(taken, 1), 1, std::max<int64_t>(count, 1));
  const Window window = crop_->centre(whole);
  visit(into.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t begin = 0; begin < count; begin += most) {
        const Tensor images = Tensor::empty(into.dtype(), {std::min(most, count - begin), taken});
        convert_rows(
            x_, scale_, [&](int64_t i) { return row_of(begin + i); }, images);
        for (int64_t i = 0; i < images.dim(0); ++i)
          copy_window(images.data<T>() + i * taken, whole, window, crop_->border, into.data<T>() + (begin + i) * given);
      }
  });
}

}  // namespace thtrain
