// What the layers of images make of one example.
#pragma once

#include <string>
#include <vector>

#include "trainers/show/trained_model.h"

namespace thtrain {

struct FeatureMaps {
  std::string layer, type;  // "conv1", "conv"
  Tensor values;            // float64 [channels, height, width]
};

/// Of each layer whose output is images, in the order of the layers, in evaluation. `x` is one example as the model
/// takes it, [1, ...]. None where no layer gives images, and of sequences.
std::vector<FeatureMaps> feature_maps(const TrainedModel& model, const Tensor& x);

}  // namespace thtrain
