// From the [model] section to a model with its first weights.
#pragma once

#include <map>
#include <string>

#include "nn/model.h"
#include "trainers/checkpoint.h"
#include "trainers/experiment.h"

namespace thtrain {

/// What the model takes of examples of the shape `example`, of sequences of steps of that shape: rows where a layer
/// that takes the examples takes rows only (dense, softmax), so that images need no flatten layer in front; else
/// [channels, height, width], where one takes images only (conv, pool) and the examples are images; else the shape
/// itself. `image` is said where the examples are images.
ModelInput model_input(const Experiment& experiment, const Shape& example, bool is_sequence = false);
/// Of the examples in an array [n, ...], which the experiment's data source says to be sequences or not. UserError for
/// an array of too few axes.
ModelInput input_of_rows(const Experiment& experiment, const Shape& rows);

/// The layers of `experiment.model` for examples of the form `input`, with weights drawn from `experiment.seed`.
/// `classes` are those of the data (0: not known). UserError at the layer's line: it does not suit what comes before
/// it; the softmax has fewer units than there are classes, or none are known.
Model build_model(const Experiment& experiment, const ModelInput& input, int64_t classes);

/// The arrays of an .npz of weights; what a checkpoint keeps besides them (names that begin with "run.") is left out.
std::map<std::string, Tensor> read_weights(const std::string& path, const ConfigPosition& where = {});

// ---- from phase to phase: parameters and state of layers, by name ----

/// What a phase hands on. States of sequences that go on from minibatch to minibatch are no part of it: an epoch begins
/// with zeros.
struct Handed {
  std::map<std::string, Shape> shapes;               // of arrays
  std::map<std::string, std::string> type_of_layer;  // of the layer of each
};
Handed handed_by(const Model& model);
/// `before` is that of the phase before. UserError where an array has another shape than the one of its name there, or
/// is of a layer of another type: only dense, softmax and rbm layers, whose W and b mean the same, take each other's.
/// `experiment` is that of the phase.
void check_handed(const Model& model, const Handed& before, const Experiment& experiment);
/// Gives the model the arrays of its names, which have the shapes of its own.
void hand_weights(const Model& model, const NamedArrays& arrays);

}  // namespace thtrain
