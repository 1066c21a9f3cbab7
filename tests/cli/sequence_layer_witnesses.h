// What the keys of layers of sequences and of symbols need to change a short run.
#pragma once

#include "nn/layer.h"
#include "tests/cli/effect_experiments.h"
#include "tests/cli/schedule_witnesses.h"

namespace thtrain {

inline void add_sequence_layers(std::map<std::string, Witness>& w) {
  auto key = [](const std::string& layer, const char* name) { return str("model.layers[", layer, "].", name); };
  w[key("rnn", "inputs")] = {.values = {"[\"nobody\"]"}, .may_fail = true};
  w[key("lstm", "inputs")] = w[key("gru", "inputs")] = {.values = {"[\"x\"]"}, .may_fail = true};
  w[key("bidirectional", "inputs")] = {.values = {"[\"x\"]"}, .may_fail = true};
  w[key("last_step", "inputs")] = w[key("mean_steps", "inputs")] = {.values = {"[\"gru1\"]"}, .may_fail = true};
  w[key("embedding", "inputs")] = w[key("one_hot", "inputs")] = {.values = {"[\"nobody\"]"}, .may_fail = true};
  for (const LayerKind& kind : LayerOptions::kinds()) {
    if (!kLayers.at(std::string(kind.name)).sequences || !kind.schema().find("truncate")) continue;
    const std::string layer(kind.name);
    w[key(layer, "truncate")] = {.values = {"1"}};
    if (kind.schema().find("output")) w[key(layer, "output")] = {.may_fail = true};  // the next one takes sequences
    if (kind.schema().find("carry"))
      w[key(layer, "carry")] = {.with = {"trainer.shuffle=false", "trainer.full_batches_only=true"}};
  }
  w[key("bidirectional", "activation")] = {.with = {"model.layers.3.kind=rnn"}};
  w[key("bidirectional", "reset_after")] = {.with = {"model.layers.3.kind=gru"}};
}

}  // namespace thtrain
