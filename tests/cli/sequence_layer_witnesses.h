// What the keys of layers of sequences and of symbols need to change a short run.
#pragma once

#include "tests/cli/schedule_witnesses.h"

namespace thtrain {

inline void add_sequence_layers(std::map<std::string, Witness>& w) {
  auto key = [](const char* layer, const char* name) { return str("model.layers[", layer, "].", name); };
  w[key("rnn", "inputs")] = {.values = {"[\"nobody\"]"}, .may_fail = true};
  w[key("lstm", "inputs")] = w[key("gru", "inputs")] = {.values = {"[\"x\"]"}, .may_fail = true};
  w[key("bidirectional", "inputs")] = {.values = {"[\"x\"]"}, .may_fail = true};
  w[key("last_step", "inputs")] = w[key("mean_steps", "inputs")] = {.values = {"[\"gru1\"]"}, .may_fail = true};
  w[key("embedding", "inputs")] = w[key("one_hot", "inputs")] = {.values = {"[\"nobody\"]"}, .may_fail = true};
  for (const char* layer : {"rnn", "lstm", "gru", "bidirectional"}) {
    w[key(layer, "output")] = {.may_fail = true};  // the next layer takes sequences
    w[key(layer, "truncate")] = {.values = {"1"}};
    if (std::string(layer) != "bidirectional")
      w[key(layer, "carry")] = {.with = {"trainer.shuffle=false", "trainer.full_batches_only=true"}};
  }
  w[key("bidirectional", "activation")] = {.with = {"model.layers.3.kind=rnn"}};
  w[key("bidirectional", "reset_after")] = {.with = {"model.layers.3.kind=gru"}};
}

}  // namespace thtrain
