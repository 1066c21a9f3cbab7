// What an experiment says about examples that are images.
#pragma once

#include <memory>

#include "datasets/augmentation.h"
#include "datasets/dataset.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Of all sets of examples; none where they are taken whole.
std::optional<ImageCrop> crop_of(const Experiment& experiment);

/// Gives examples that were read alone, of a file to predict, the shape and the crop that training gave them. Rows that
/// have another number of numbers than data.image_shape stay rows. UserError where they are no images to be cropped, or
/// smaller ones.
void take_images(Split& split, const Experiment& experiment);

/// What trainer.augment makes of the training images; null without it. It draws from the experiment's seed, in each
/// phase other numbers. UserError: the examples are no images, and as Augmentation.
std::shared_ptr<const Augmentation> augmentation_of(const Experiment& experiment, const Split& train);

}  // namespace thtrain
