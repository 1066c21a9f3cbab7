// States of sequences that go on from one minibatch to the next: layers with carry = true.
#pragma once

#include "nn/model.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Makes all of it zero: an epoch begins.
void clear_carried_state(const Model& model);

/// UserError at a layer that carries its state, where the minibatches are not windows that go on in each other's rows:
/// they are shuffled, they do not have trainer.batch_size sequences each (`has_rest`: the last one has fewer), or the
/// data source lays its windows out in another number of tracks.
void check_carried_state(const Model& model, const Experiment& experiment, const Dataset& data, bool has_rest);

}  // namespace thtrain
