// Values of the command line, put over those of a file.
#pragma once

#include <string>
#include <vector>

#include "config/config_node.h"

namespace thtrain {

/// In order: "trainer.learning_rate=0.1", "model.layers.0.units=100" (elements count from 0), "data={source =
/// 'mnist'}". The part behind `=` is a TOML value, or else a string as it is: "compiler.mode=native". A key that
/// the file does not have is added. Positions are in "command line", whose lines are the overrides, counted from 1.
void apply_overrides(ConfigNode& root, const std::vector<std::string>& overrides, Findings& findings);

}  // namespace thtrain
