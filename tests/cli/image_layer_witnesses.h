// What the keys of layers of images need to change a short run.
#pragma once

#include "tests/cli/schedule_witnesses.h"

namespace thtrain {

inline void add_image_layers(std::map<std::string, Witness>& w) {
  auto key = [](const char* layer, const char* name) { return str("model.layers[", layer, "].", name); };
  for (const char* layer :
       {"conv", "conv_transposed", "pool", "upsample", "batch_norm", "layer_norm", "local_response_norm"})
    w[key(layer, "inputs")] = {.values = {"[\"x\"]", "[\"flatten1\", \"conv1\"]"}, .may_fail = true};
  // Images are taken as they are.
  for (const char* layer : {"conv_transposed", "pool", "upsample"})
    w[key(layer, "image_shape")] = {.values = {"[2, 1, 8]"}, .may_fail = true};
  w[key("conv", "image_shape")] = {.values = {"[2, 2, 1]", "[1, 1, 4]"}};
  w[key("conv", "padding")] = {.values = {"full", "[2, 1]", "[1, 1, 2, 0]"}};
  w[key("conv", "groups")] = {.with = {"model.layers.1.image_shape=[2, 2, 1]"}, .values = {"2"}};
  w[key("conv_transposed", "groups")] = {.values = {"2"}};
  w[key("pool", "ignore_border")] = {.with = {"model.layers.6.size=4"}};
  for (const char* of_bias : {"trained", "rate_factor"})
    w[key("pool", of_bias)] = {.with = {"model.layers.6.bias=true"}};
  w[key("batch_norm", "sync")] = {.with = {"trainer.shards=2"}};
  w[key("layer_norm", "axes")] = {.values = {"1", "2"}};
}

}  // namespace thtrain
