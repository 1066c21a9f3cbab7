// What the keys of images are tried with: the examples of npy and idx are images of 2 x 2 pixels.
#pragma once

#include <map>
#include <string>

#include "tests/cli/schedule_witnesses.h"

namespace thtrain {

inline void add_images(std::map<std::string, Witness>& w) {
  w["data[npy].image_shape"] = w["data[idx].image_shape"] = {.values = {"[1, 2, 2]", "[4, 1, 1]"}};
  w["data[csv].image_shape"] = {.values = {"[1, 1, 2]"}};
  w["trainer.augment.shift"] = {.values = {"1"}};
  w["trainer.augment.crop"] = {.values = {"[1, 2]", "[2, 1]"}};
  w["trainer.augment.padding"] = {.with = {"trainer.augment.crop=[2, 2]"}, .values = {"1", "2"}};
  w["trainer.augment.border"] = {.with = {"trainer.augment.shift=1"}};
}

}  // namespace thtrain
