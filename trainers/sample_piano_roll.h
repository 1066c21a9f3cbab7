// Piano rolls from a trained model.
#pragma once

#include <string>

#include "trainers/experiment.h"

namespace thtrain {

struct RollSampling {
  int64_t length = 200;      // steps
  double temperature = 1;    // of each key's probability: sigmoid(logit / temperature); 0: whether the logit is above 0
  int64_t gibbs_steps = 25;  // of the machine of each step, where the model has one
  int64_t seed = 1;          // of the draws
};

/// Does the experiment's model give piano rolls: is its data the source piano_rolls, or does one of its layers draw
/// sequences by itself?
bool gives_piano_rolls(const Experiment& experiment);
/// Does one of its layers draw sequences by itself (Layer::kGeneratesSequences)?
bool has_generating_layer(const Experiment& experiment);

/// [steps, keys]: 1 where a key sounds. A layer that draws sequences by itself draws each step from its machine;
/// another model gives each key's probability after the steps before it, at first after a silent one. The same
/// arguments give the same roll. UserError where the model with these weights (an .npz) gives nothing of the kind.
Tensor sample_piano_roll(const Experiment& experiment, const std::string& weights, const RollSampling& how = {});

}  // namespace thtrain
