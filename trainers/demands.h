// What a model wants of its examples besides their shapes: symbols in range, and labels that the steps have room for.
#pragma once

#include "datasets/dataset.h"
#include "nn/model.h"
#include "trainers/experiment.h"

namespace thtrain {

/// The name of the layer, or "x", whose numbers layer `layer` of the model takes as its first input, looking through
/// layers that only reshape.
std::string source_of(const Experiment& experiment, size_t layer);

/// A split of `data` that check_batch holds to what the model wants: layers of symbols that take the examples
/// want symbols, an objective with a blank label those that a path over the steps spells. UserError where the data's
/// scale or standardization changes symbols.
Split demanding(const Experiment& experiment, const Dataset& data, const Split& split);

/// UserError for the first example of the data that is not what demanding() wants. What is streamed is checked as it is
/// read.
void check_demands(const Experiment& experiment, const Dataset& data);
/// UserError where an objective trains a machine (ObjectiveOptions::trains_machine): the examples have weights, or what
/// its binary visible units take are no numbers from 0 to 1, examples (of which those that are streamed are not read),
/// or what the layer before gives by its kind.
void check_machines(const Experiment& experiment, const Model& model, const Dataset& data);

}  // namespace thtrain
