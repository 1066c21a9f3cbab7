// From the [model] section to a model with its first weights.
#pragma once

#include <map>
#include <string>

#include "nn/model.h"
#include "trainers/experiment.h"

namespace thtrain {

/// What the model takes of examples of the shape `example`: rows where its first layer takes rows (dense, softmax), so that
/// images need no flatten layer in front; else the shape itself.
Shape model_input(const Experiment& experiment, const Shape& example);

/// The layers of `experiment.model` for examples of the shape `input`, with weights drawn from `experiment.seed`.
/// `classes` are those of the data (0: not known). UserError at the layer's line: it does not suit what comes before it; the
/// softmax has fewer units than there are classes, or none are known.
Model build_model(const Experiment& experiment, const Shape& input, int64_t classes);

/// The place of `experiment.model.weights`, looked for as data files are: from the folder of the file that names it.
/// UserError where it is not found.
std::string weights_file(const Experiment& experiment);

/// The arrays of an .npz of weights; what a checkpoint keeps beside them (names that begin with "run.") is left out.
std::map<std::string, Tensor> read_weights(const std::string& path);

}  // namespace thtrain
