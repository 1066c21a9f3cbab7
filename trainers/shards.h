// Which shards of minibatches a process computes, and what cannot be computed in shards.
#pragma once

#include "trainers/experiment.h"
#include "trainers/ranks/ranks.h"
#include "trainers/shard_range.h"

namespace thtrain {

/// Those of this process: neighbours. UserError where there are several ranks, and no shards or a number of shards that
/// they do not divide.
ShardRange own_shards(int64_t shards, const Ranks& ranks);
/// UserError where this experiment cannot be trained by these ranks: own_shards(), and what speaks of one process.
void check_ranks(const Experiment& experiment, const Ranks& ranks);
/// The same with a device for each process of a host, counted on from compiler.device; an emulated one is each process'
/// own. UserError where thtrain has no name for the device.
Experiment on_own_device(const Experiment& experiment, const Ranks& ranks);
/// What of the experiment does not go with trainer.shards.
void check_shards(const Experiment& experiment, Findings& findings);

}  // namespace thtrain
