// What differs between two experiments, key by key.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace thtrain {

/// A line for each key that differs between two texts of resolved_toml(), or is in one of them only, in the order
/// of keys: "trainer.epochs: 3 then, 4 now", "loss.l1: not set then, 0.1 now". Layers count from 0:
/// "model.layers.0.units".
std::vector<std::string> config_edits(const std::string& then, const std::string& now);
/// Every key of such a text with its value as TOML: "trainer.epochs" -> "30".
std::map<std::string, std::string> config_values(const std::string& resolved);
/// What such a text has for a key: "30" for "trainer.epochs".
std::optional<std::string> config_value(const std::string& resolved, const std::string& key);

}  // namespace thtrain
