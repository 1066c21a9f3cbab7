// A step of training whose minibatch is computed in shards, by one process or by several: the same bits.
//
// Each shard has its own cost, gradients and statistics, by a function of its examples alone. Those of the minibatch
// are the means over the shards, each weighted by the weight of its examples, and summed by a binary tree over the
// shards (trainers/ranks/shard_tree.h): while the last shard computes the rest (trainers/ranks/shard_sums.h). A second
// function takes the step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "nn/outputs.h"
#include "nn/training_step.h"
#include "reports/exchange_profile.h"
#include "trainers/device_shards.h"
#include "trainers/feed.h"
#include "trainers/ranks/shard_sums.h"
#include "trainers/shard_range.h"
#include "trainers/shard_turns.h"

namespace thtrain {

/// The expressions of one shard.
struct ShardGraph {
  std::vector<In> inputs = {};
  Expr cost = {}, weight = {};       // scalars of floatX: the mean, and what it counts
  std::vector<Expr> gradients = {};  // of the optimizer's parameters
  std::vector<Update> updates = {};  // of what layers and the objective keep
  /// Do they need sums over all shards (nn/minibatch_sum.h)? Then the gradients are those of weight * cost.
  bool meets = false;
};

/// What a rank would like all of them to do after this step. All know of all wishes then.
struct Wishes {
  bool stop = false, save = false, end = false;  // end: the time is spent
};

class ShardedStep {
 public:
  /// Of so many examples.
  using Build = std::function<ShardGraph(int64_t count)>;
  struct Options {
    ShardRange shards;  // this process' own
    int64_t batch_size = 0;
    int64_t rest = 0;  // examples of the last minibatch, where it is shorter
    FunctionOptions function;
  };
  /// `step` is there once `build` was called. The feed, the model and the ranks stay alive.
  ShardedStep(Options options, Build build, const std::optional<TrainingStep>& step, const Shared& loss_sum,
              const Model& model, const WeightedObjectives& objectives, Ranks& ranks);

  /// Examples `begin` to `begin + length`: adds their cost to loss_sum and changes the weights. Where an example cannot
  /// be read, nothing is changed.
  void step(Feed& feed, int64_t begin, int64_t length);
  void wish(const Wishes& wishes) { wishes_ = wishes; }
  /// Of the last step.
  const Wishes& agreed() const { return agreed_; }
  /// What each shard keeps for itself: random generators and carried state.
  const NamedState& state() const { return copies_; }
  /// Brings the other ranks' shards into state(): before a checkpoint. All ranks call it.
  void gather_state();
  void clear_carried_state();

  /// The first of this process' shards of a minibatch whose cost is not finite.
  std::optional<int64_t> bad_shard(Feed& feed, int64_t begin, int64_t length);
  void watch(Feed& feed, int64_t begin, int64_t length, int64_t shard,
             const std::function<void(const StepEvent&)>& callback);
  /// Of that shard.
  std::span<const Tensor> arguments(Feed& feed, int64_t begin, int64_t length, int64_t shard) const;

  /// Steps so far, and the seconds that they took: this process' shards, the optimizer, and sums over the ranks, those
  /// that were made during the shards and those that were waited for.
  struct Times {
    int64_t steps = 0;
    double shards = 0, apply = 0, hidden = 0, waited = 0;
  };
  Times times() const;
  ExchangeProfile exchange_profile() const;
  /// What is summed over the ranks in each step, one after the other, as elements of a buffer; and for each the seconds
  /// from the beginning of a step until this process had it of all its shards, of all steps together.
  std::vector<Bucket> buckets() const;
  std::vector<double> ready_seconds() const;

  /// Of the full shards of full minibatches.
  Function& function() { return function_of(options_.shards.length_of(0, options_.batch_size)); }
  const Function& function() const { return const_cast<ShardedStep*>(this)->function(); }
  /// Of both functions.
  std::string identity() const { return str(function().identity(), ' ', apply_->identity()); }
  /// What one call of function() computes.
  const Graph& graph() const { return graph_; }

 private:
  /// A shared variable of which each shard has its own value.
  struct OwnState {
    std::string name;
    Shared variable;
    bool is_carried = false;
  };
  /// Of a number of examples. It gives, in this order: the cost, its weight, statistics, gradients from the last
  /// parameter to the first, what the shard keeps. On a device all but the cost and what the shard keeps stays there.
  struct ShardFunction {
    Function function;
    std::optional<double> weight;         // where it does not depend on the examples
    std::vector<Function> of_shard = {};  // of this process' shards behind the first, where shards meet: copies
    std::vector<Function> of_level = {};  // on a device: copies that write to other places
  };
  ShardFunction& shard_function(int64_t count);
  Function& function_of(int64_t count) { return shard_function(count).function; }
  std::vector<Expr> statistics_of(const ShardGraph& graph) const;
  std::vector<Out> outputs_of(const ShardGraph& graph) const;
  std::vector<Expr> parts_of(const ShardGraph& graph, const Expr& wishes) const;
  void sort_updates(const std::vector<Update>& updates, const Model& model, const NamedState& of_objective);
  void check_meetings() const;
  void make_sums(const TrainingStep& step);
  void make_apply(const TrainingStep& step);
  void alone(const std::function<void()>& call);
  void compute_shards(Feed& feed, int64_t begin, int64_t length);
  void compute_shard(Feed& feed, int64_t begin, int64_t length, int64_t shard);
  void compute_meeting_shards(Feed& feed, int64_t begin, int64_t length);
  void compute_device_shards(Feed& feed, int64_t begin, int64_t length);
  void sum_shards(Feed& feed, int64_t begin, int64_t length);
  std::vector<Tensor> call_arguments(Feed& feed, int64_t begin, int64_t length, int64_t shard) const;
  class Giver;
  Tensor wishes_of(int64_t shard) const;
  bool is_on_device() const { return options_.function.target && options_.function.target->is_device(); }
  /// Parts of the sums: gradients, statistics, then the cost, the weight, three wishes.
  size_t first_of_last_parts() const { return gradients_ + averaged_.size(); }
  static constexpr int64_t kWishes = 3;
  const Shared& copy_of(int64_t shard, size_t index) const {
    return copies_[static_cast<size_t>(shard) * own_.size() + index].second;
  }
  void use_copies(int64_t shard) const;

  Options options_;
  Build build_;
  Shared loss_sum_;
  Ranks& ranks_;
  std::map<int64_t, ShardFunction> functions_;  // by the number of examples
  Graph graph_;
  DType dtype_ = DType::kFloat32;
  std::vector<Shared> averaged_;  // statistics of layers: their means over the shards
  std::vector<OwnState> own_;
  NamedState copies_;  // own_ of shard 0, own_ of shard 1, ...
  size_t gradients_ = 0;
  bool meets_ = false;
  std::optional<ShardTurns> turns_;     // where shards meet
  std::optional<ShardSums> sums_;       // on the host
  std::optional<DeviceShards> device_;  // in its place, where a device computes
  std::vector<Tensor> next_;            // values of own_, of one of this process' shards after the other
  std::optional<Function> apply_;
  std::vector<Tensor> apply_arguments_;  // parts of the sums
  Wishes wishes_, agreed_;
  Times times_;
};

}  // namespace thtrain
