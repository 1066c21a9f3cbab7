#include "trainers/image_data.h"

namespace thtrain {

std::optional<ImageCrop> crop_of(const Experiment& experiment) {
  const std::optional<AugmentConfig>& augment = experiment.trainer.augment;
  return augment ? augment->image_crop() : std::nullopt;
}

void take_images(Split& split, const Experiment& experiment) {
  const DataConfig& data = *experiment.data;
  const std::vector<int64_t>& shape = data.image_shape;
  if (!shape.empty() && element_count(shape) == element_count(split.input_shape()))
    split.set_image_shape({shape.at(0), shape.at(1), shape.at(2)}, data.at("image_shape"));
  if (std::optional<ImageCrop> crop = crop_of(experiment)) split.set_crop(*crop);
}

std::shared_ptr<const Augmentation> augmentation_of(const Experiment& experiment, const Split& train) {
  const std::optional<AugmentConfig>& augment = experiment.trainer.augment;
  if (!augment) return nullptr;
  const ImageShape image = require_images(train.whole_images(), augment->position);
  return std::make_shared<const Augmentation>(*augment, image, static_cast<uint64_t>(experiment.seed),
                                              experiment.phase_number);
}

}  // namespace thtrain
