// The position of a key `data` in a configuration, and how an error shows it.
#pragma once

#include <string>

#include "compiler/base/error.h"
#include "compiler/base/str.h"

namespace thtrain {

inline ConfigPosition data_at(int line) {
  return {.file = "lab.toml", .line = line, .column = 1, .length = 4, .source_line = "data"};
}

/// The end of a message at data_at(line).
inline std::string data_caret(int line) {
  return str("\n  config:   lab.toml:", line, ":1\n      ", line, " | data\n        | ^^^^");
}

}  // namespace thtrain
