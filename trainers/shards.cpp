#include "trainers/shards.h"

#include <algorithm>
#include <bit>

#include "nn/objectives/contrastive_divergence.h"
#include "nn/recurrent.h"

namespace thtrain {

// The most processes that may be started, and where some number of shards suits these, what to set.
static std::string hint_of(int64_t shards, int64_t size) {
  const auto most = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::min(shards, size))));
  std::string out = str("start ", most, most == 1 ? " process" : " processes");
  if (std::has_single_bit(static_cast<uint64_t>(size))) out += str(", or set trainer.shards = ", size);
  return out;
}

ShardRange own_shards(int64_t shards, const Ranks& ranks) {
  const int64_t size = ranks.size();
  if (shards % size != 0 || (shards == 0 && size > 1))
    throw UserError(Message{
        .what = str(size, " processes cannot share ", shards, shards == 1 ? " shard" : " shards", " of each minibatch"),
        .expected = "a number of processes that divides trainer.shards",
        .got = str(size),
        .hint = hint_of(shards, size)});
  const int64_t each = std::max<int64_t>(shards, 1) / size;
  return {.count = std::max<int64_t>(shards, 1), .first = ranks.rank() * each, .last = (ranks.rank() + 1) * each};
}

void check_ranks(const Experiment& experiment, const Ranks& ranks) {
  if (ranks.size() == 1) return;
  const TrainerConfig& trainer = experiment.trainer;
  if (trainer.shards == 0)
    throw UserError(Message{
        .what = str(ranks.size(), " processes were started together, and trainer.shards does not say how they share ",
                    "minibatches"),
        .expected = "trainer.shards, a power of two that the number of processes divides",
        .hint = str("trainer.shards = ", std::bit_ceil(static_cast<uint64_t>(ranks.size())),
                    " gives the same bits with 1, 2, 4, ... processes")});
  own_shards(trainer.shards, ranks);
}

Experiment on_own_device(const Experiment& experiment, const Ranks& ranks) {
  using Device = CompilerConfig::Device;
  Experiment out = experiment;
  if (experiment.compiler.device < Device::kCuda) return out;
  int number = static_cast<int>(experiment.compiler.device);
  for (int rank = 0; rank < ranks.rank(); ++rank) number += ranks.host_of(rank) == ranks.host_of(ranks.rank());
  if (number > static_cast<int>(Device::kCuda7))
    throw UserError(Message{.what = str(ranks.name(), " has no device of its own"),
                            .expected = "at most 8 processes on a host",
                            .config = experiment.compiler.at("device")});
  out.compiler.device = static_cast<Device>(number);
  return out;
}

void check_shards(const Experiment& experiment, Findings& findings) {
  const TrainerConfig& trainer = experiment.trainer;
  if (trainer.shards == 0) return;
  auto refuse = [&](std::string what, std::string expected, ConfigPosition position) {
    findings.add({.what = std::move(what), .expected = std::move(expected), .config = std::move(position)});
  };
  if (!std::has_single_bit(static_cast<uint64_t>(trainer.shards)))
    refuse("trainer.shards is no power of two", "1, 2, 4, 8, ...", trainer.at("shards"));
  if (trainer.shards > trainer.batch_size)
    refuse("a minibatch has fewer examples than shards", str("at most ", trainer.batch_size), trainer.at("shards"));
  if (trainer.optimizer.has_value() && trainer.optimizer->batch_method())
    refuse(str("trainer.shards does not go with the batch method \"", trainer.optimizer.name(), "\""),
           "an optimizer that takes a step for each minibatch", trainer.at("shards"));
  if (experiment.compiler.background)
    refuse("trainer.shards does not go with compiler.background, whose bits depend on time",
           "compiler.background = false", experiment.compiler.at("background"));
  for (const OutputLossConfig& output : output_losses(experiment)) {
    const auto* machine = dynamic_cast<const ContrastiveDivergence::Options*>(&*output.objective);
    if (machine && machine->persistent)
      refuse("trainer.shards does not go with persistent chains, which are those of whole minibatches",
             "persistent = false", trainer.at("shards"));
    if (experiment.loss.outputs.size() > 1 && !output.class_weights.empty())
      refuse("trainer.shards does not go with class weights of one of several outputs",
             "weights of examples, or one output", output.at("class_weights"));
  }
}

}  // namespace thtrain
