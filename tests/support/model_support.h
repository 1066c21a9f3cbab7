// What tests of models and layers share.
#pragma once

#include "compiler/api.h"
#include "config/config.h"

namespace thtrain {

inline const FunctionOptions kReference{.mode = Mode::kReference};

/// The section of a layer at that line of a.toml.
inline Section layer_section(int line) {
  return {.position = {.file = "a.toml", .line = line, .column = 1, .length = 16, .source_line = "[[model.layers]]"}};
}

}  // namespace thtrain
