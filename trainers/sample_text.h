// Text from a trained model that tells the next symbol.
//
//   std::string text = sample_text(experiment, data.class_names, folder.weights(), {.start = "the ", .length = 200});
#pragma once

#include <string>
#include <vector>

#include "trainers/experiment.h"

namespace thtrain {

struct TextSampling {
  std::string start = {};            // what the text begins with; "": a symbol that is drawn from all alike
  int64_t length = 500;              // symbols behind it
  double temperature = 1;            // of SymbolSampler::next()
  int64_t seed = 1;                  // of the draws
  std::string start_name = "start";  // in messages
};

/// `start` and what the model of `experiment` with these weights (an .npz) goes on with. `symbols`: their texts in the
/// order of the classes, Dataset::class_names. The same arguments give the same text. UserError where the model tells
/// no next symbol of them, or cannot go step by step (trainers/stepping_model.h), where the weights do not fit, where
/// `start` has other symbols, and where a number of `how` is out of range.
std::string sample_text(const Experiment& experiment, const std::vector<std::string>& symbols,
                        const std::string& weights, const TextSampling& how = {});

}  // namespace thtrain
