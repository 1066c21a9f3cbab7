// How long a step of training takes by many ranks: predicted from what one process measures and a network that is
// stated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Between any two ranks, in both directions at once.
struct ScaleNetwork {
  double latency = 2e-6;    // seconds of an empty message
  double bandwidth = 10e9;  // bytes in a second
};

/// A step in shards by one process, in seconds.
struct ShardedStepTimes {
  int64_t shards = 1, examples = 0;  // of a minibatch
  int64_t bytes = 0;                 // that ranks combine
  double computing = 0;              // all shards
  double optimizer = 0;
  double adding = 0;  // a byte to another one
};

/// Trains for about so many seconds, behind a tenth of that. The weights are lost.
ShardedStepTimes measure_sharded_step(const Experiment& experiment, const Dataset& data,
                                      const std::string& config_folder, double seconds);

/// Of recursive halving and doubling (trainers/ranks/ranks.h): 2 log2(ranks) messages of each rank, of half of what the
/// one before it sent, and back.
double predicted_exchange(const ShardedStepTimes& step, const ScaleNetwork& network, int64_t ranks);

struct PredictedStep {
  int64_t ranks = 1;
  double exchange = 0;
  double shared = 0;  // a step whose shards the ranks share; 0 where they are more than the shards
  double each =
      0;  // a step of a minibatch that is `ranks` times as large: each rank computes as many shards as one did
};
/// For 1, 2, 4, ... to 1,024 ranks.
std::vector<PredictedStep> predicted_steps(const ShardedStepTimes& step, const ScaleNetwork& network);

std::string scale_table(const ShardedStepTimes& step, const ScaleNetwork& network);
/// A line for each number of ranks.
std::string scale_json(const ShardedStepTimes& step, const ScaleNetwork& network);

}  // namespace thtrain
