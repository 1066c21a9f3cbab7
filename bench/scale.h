// How long a step of training takes by many ranks: predicted from what one process measures and a network that is
// stated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/random_state.h"
#include "datasets/dataset.h"
#include "trainers/experiment.h"
#include "trainers/program.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// Between any two ranks, in both directions at once.
struct ScaleNetwork {
  double latency = 2e-6;     // seconds of an empty message
  double bandwidth = 10e9;   // bytes in a second
  bool takes_cores = false;  // messages are copied by the cores that compute: none of them is hidden
};

/// A step in shards, in seconds.
struct ShardedStepTimes {
  int64_t shards = 1, examples = 0;  // of a minibatch
  double computing = 0;              // this process' shards
  double optimizer = 0;
  double adding = 0;  // a byte to another one
  struct Bucket {
    int64_t bytes = 0;
    double ready = 0;  // since the step began: this process has it of all its shards
  };
  std::vector<Bucket> buckets = {};  // that ranks sum, in their order
  double hidden = 0, waited = 0;     // sums over the ranks, beside the computing and behind it

  int64_t bytes() const;
  double whole() const { return computing + waited + optimizer; }
};

/// Trains, and measures the steps. The weights are lost.
class ShardedStepMeter {
 public:
  /// By these ranks; null: by this process alone.
  ShardedStepMeter(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                   const std::shared_ptr<Ranks>& ranks);

  /// Of about so many seconds, behind a tenth of that.
  ShardedStepTimes measure(double seconds);

 private:
  void train(double seconds);

  int64_t shards_, examples_;
  std::unique_ptr<TrainingProgram> program_;
  std::optional<RandomState> random_;
};

/// Seconds that a byte of so many takes to be added to another one, as ranks add.
double seconds_of_adding(int64_t bytes);

struct ScaleMeasurement {
  ShardedStepTimes alone = {}, together = {};
  ScaleNetwork network = {};
};
/// A step of a process alone; of several ranks also one by all of them, and their network, by sums of one number and of
/// a step's bytes. All compute alone at once, since processes of one machine take time from each other, and it is
/// measured by turns. Where they fill the machine's cores, the network takes their time.
ScaleMeasurement measure_scale(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                               double seconds, const std::shared_ptr<Ranks>& ranks);

/// Of recursive halving and doubling (trainers/ranks/ranks.h), of so many bytes: 2 log2(ranks) messages of each rank,
/// of half of what the one before it sent, and back.
double predicted_exchange(double bytes, double adding, const ScaleNetwork& network, int64_t ranks);

struct PredictedStep {
  int64_t ranks = 1;
  double exchange = 0;  // all buckets
  double shared = 0;    // a step whose shards the ranks share; 0 where they are more than the shards
  double each =
      0;  // a step of a minibatch that is `ranks` times as large: each rank computes as many shards as one did
};
/// For 1, 2, 4, ... to 1,024 ranks, from a step of one process. Buckets are exchanged one after the other, each as soon
/// as it is ready, beside the computing where the network does not take its cores.
std::vector<PredictedStep> predicted_steps(const ShardedStepTimes& step, const ScaleNetwork& network);

std::string scale_table(const ShardedStepTimes& step, const ScaleNetwork& network);
/// What these ranks took, and what was predicted of them.
std::string compared_step(const ScaleMeasurement& scale, int64_t ranks);
/// A line for each number of ranks.
std::string scale_json(const ShardedStepTimes& step, const ScaleNetwork& network);

}  // namespace thtrain
