// What the keys of layers that draw random numbers, of restricted Boltzmann machines and of autoencoders need to change
// a short run.
#pragma once

#include "tests/cli/schedule_witnesses.h"

namespace thtrain {

inline void add_machines(std::map<std::string, Witness>& w) {
  w["model.layers[dropout].inputs"] = {.values = {"[\"x\"]"}, .may_fail = true};
  w["model.layers[corrupt].inputs"] = {.values = {"[\"flatten1\"]", "[\"x\"]"}, .may_fail = true};
  for (const char* layer : {"dropout", "corrupt"})
    w[std::string("model.layers[") + layer + "].seed"] = {.values = {"5", "6"}};
  w["model.layers[rbm].trained"] = w["model.layers[rnn_rbm].trained"] = {.may_fail = true};
  w["model.layers[corrupt].deviation"] = {.with = {"model.layers.2.noise=gaussian"}};
  w["model.layers[transposed].inputs"] = {.values = {"[\"x\"]"}, .may_fail = true};
  w["model.layers[transposed].of"] = {.values = {"again"}, .may_fail = true};
  for (const char* layer : {"rbm", "rnn_rbm"})
    w[str("model.layers[", layer, "].inputs")] = {.values = {"[\"nobody\"]"}, .may_fail = true};
  w["loss.compare_layer"] = {
      .with = {"loss.type=squared_error", "loss.compare_with=layer", "loss.compare_layer=dense1"},
      .values = {"activation1"}};
  w["loss.outputs.compare_layer"] = {
      .with = {"model.layers.2.units=3", "loss.outputs.1.compare_with=layer", "loss.outputs.1.compare_layer=start"},
      .values = {"copy"},
      .may_fail = true};
  w["loss.contraction"] = {.with = {"loss.contraction=0.5", "loss.contracted=dense1"}};
  w["loss.contracted"] = {
      .with = {"loss.contraction=0.5", "loss.contracted=dense1"}, .values = {"softmax"}, .may_fail = true};
  for (const char* objective : {"binary_crossentropy", "squared_error"})
    w[str("loss[", objective, "].sum_outputs")] = {
        .with = {"loss.compare_with=inputs", "data.scale=0.25", "model.layers.1.units=4"}};
  w["loss.outputs[binary_crossentropy].sum_outputs"] = {.with = {"data.scale=0.25"}};
}

}  // namespace thtrain
