#include "trainers/carried_state.h"

namespace thtrain {

void clear_carried_state(const Model& model) {
  for (const Param& state : model.carried_state()) state.variable.set_zero();
}

void check_carried_state(const Model& model, const Experiment& experiment, const Dataset& data, bool has_rest) {
  const TrainerConfig& trainer = experiment.trainer;
  for (const auto& layer : model.layers()) {
    if (layer->carried_state().empty()) continue;
    if (trainer.optimizer->batch_method())
      throw UserError(Message{.what = str("layer ", layer->name(), " carries its state from minibatch to minibatch, ",
                                          "which does not go with a batch method"),
                              .expected = "carry = false, or an optimizer that takes a step for each minibatch",
                              .got = str("trainer.optimizer = \"", trainer.optimizer.name(), '"'),
                              .config = layer->position()});
    auto fail = [&](std::string expected, std::string got, std::string hint = "") {
      throw UserError(Message{.what = str("layer ", layer->name(), " carries its state from minibatch to minibatch, ",
                                          "and these do not go on in each other's rows"),
                              .expected = std::move(expected),
                              .got = std::move(got),
                              .config = layer->position(),
                              .hint = std::move(hint)});
    };
    if (data.train.has_lengths())
      fail("sequences of one length: each goes on where the one of the minibatch before ended",
           str("lengths in ", data.train.lengths_array().origin));
    OneOf<DataConfig> source = experiment.data;
    const auto* drawn = source.has_value() ? dynamic_cast<const SplitConfig*>(&*source) : nullptr;
    if (drawn && drawn->split != SplitBy::kOrder)
      fail("data.split = \"last\", which keeps the order of the rows",
           str("data.split = \"", drawn->split == SplitBy::kShuffled ? "shuffled" : "stratified", '"'));
    if (trainer.shuffle) fail("trainer.shuffle = false", "trainer.shuffle = true");
    if (has_rest || data.train.size() < trainer.batch_size)
      fail(str("minibatches of ", trainer.batch_size, " sequences, as trainer.batch_size says"),
           str("a last one of ", data.train.size() % trainer.batch_size),
           data.train.size() < trainer.batch_size ? "" : "trainer.full_batches_only = true leaves it out");
    if (trainer.shards > 0 && trainer.batch_size % trainer.shards != 0)
      fail(str("a trainer.batch_size that trainer.shards = ", trainer.shards, " divides"), str(trainer.batch_size));
    const int64_t tracks = experiment.data.has_value() ? experiment.data->tracks() : 0;
    if (tracks > 0 && tracks != trainer.batch_size)
      fail(str("data.tracks = ", trainer.batch_size, ", which is trainer.batch_size"), str("data.tracks = ", tracks));
  }
}

}  // namespace thtrain
