#include "trainers/config_edits.h"

#include <sstream>

#include "compiler/base/str.h"

namespace thtrain {

// "phase.model.layers" in the second [[phase]] -> "phase.1.model.layers"; `elements` counts those of lists so far.
static std::string with_numbers(const std::string& path, const std::map<std::string, int>& elements) {
  std::string out;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (auto list = elements.find(out); list != elements.end()) out += str('.', list->second - 1);
    out += str(out.empty() ? "" : ".", key);
  }
  return out;
}

std::map<std::string, std::string> config_values(const std::string& resolved) {
  std::map<std::string, std::string> out;
  std::istringstream lines(resolved);
  std::string section;
  std::map<std::string, int> elements;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[[")) {
      const std::string list = with_numbers(line.substr(2, line.find("]]") - 2), elements);
      section = str(list, '.', elements[list]++, '.');
    } else if (line.starts_with("[")) {
      section = str(with_numbers(line.substr(1, line.find(']') - 1), elements), '.');
    } else if (size_t equals = line.find(" = "); equals != std::string::npos) {
      out[section + line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  return out;
}

std::vector<std::string> config_edits(const std::string& then, const std::string& now) {
  auto old = config_values(then), current = config_values(now);
  std::vector<std::string> out;
  for (const auto& [key, value] : current)
    if (!old.contains(key))
      out.push_back(str(key, ": not set then, ", value, " now"));
    else if (old[key] != value)
      out.push_back(str(key, ": ", old[key], " then, ", value, " now"));
  for (const auto& [key, value] : old)
    if (!current.contains(key)) out.push_back(str(key, ": ", value, " then, not set now"));
  return out;
}

std::optional<std::string> config_value(const std::string& resolved, const std::string& key) {
  const std::map<std::string, std::string> values = config_values(resolved);
  auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace thtrain
