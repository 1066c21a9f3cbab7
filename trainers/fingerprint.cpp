#include "trainers/fingerprint.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "compiler/base/build_info.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/threads.h"
#include "compiler/tuning/machine.h"
#include "trainers/program.h"

namespace thtrain {

Fingerprint machine_fingerprint(int64_t threads) {
  return {{"thtrain", std::string(build_id)},
          {"threads", std::to_string(thread_count(static_cast<int>(threads)))},
          {"processor", cpu().feature_text},
          {"vector_bytes", std::to_string(machine().lanes_of(DType::kUInt8))},
          {"blas", str(blas().version, " ", blas().corename)},
          {"compiler", cache().compiler_text()}};
}

Fingerprint device_fingerprint(const CompilerConfig& config) {
  const std::optional<kernel::Target> target = device_target(config);
  return target ? device_facts(*target) : Fingerprint();
}

std::string* find_entry(Fingerprint& fingerprint, std::string_view name) {
  auto found = std::find_if(fingerprint.begin(), fingerprint.end(), [&](const auto& pin) { return pin.first == name; });
  return found == fingerprint.end() ? nullptr : &found->second;
}

// "conv float32 b50: rows 12x2 (4), matrix_product float32 50x20x10 NN: library (1)": computations and what does them.
static std::map<std::string, std::string> choices_of_text(const std::string& text) {
  std::map<std::string, std::string> out;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(", ", start), text.size());
    const std::string one = text.substr(start, end - start);
    const size_t colon = std::min(one.find(": "), one.size());
    out[one.substr(0, colon)] = colon < one.size() ? one.substr(colon + 2) : "";
    start = end + 2;
  }
  return out;
}

// A list of all of them would hide the few that differ.
static void add_different_choices(const std::string& then, const std::string& now, std::vector<std::string>& out) {
  const std::map<std::string, std::string> old = choices_of_text(then), current = choices_of_text(now);
  auto text = [](const std::map<std::string, std::string>& choices, const std::string& computation) {
    auto found = choices.find(computation);
    return found == choices.end() ? "none" : found->second;
  };
  std::map<std::string, std::string> all = old;
  all.insert(current.begin(), current.end());
  for (const auto& [computation, choice] : all)
    if (const std::string before = text(old, computation), after = text(current, computation); before != after)
      out.push_back(str(kChoicesEntry, ": ", computation, ": ", before, " then, ", after, " now"));
}

std::vector<std::string> differences(const Fingerprint& then, const Fingerprint& now) {
  std::map<std::string, std::string> old(then.begin(), then.end()), current(now.begin(), now.end());
  std::vector<std::string> out;
  for (const auto& [name, value] : now) {
    auto found = old.find(name);
    if (found == old.end())
      out.push_back(str(name, ": not known then, ", value, " now"));
    else if (name == kChoicesEntry)
      add_different_choices(found->second, value, out);
    else if (found->second != value)
      out.push_back(str(name, ": ", found->second, " then, ", value, " now"));
  }
  for (const auto& [name, value] : then)
    if (!current.contains(name)) out.push_back(str(name, ": ", value, " then, not known now"));
  return out;
}

std::string fingerprint_text(const Fingerprint& fingerprint) {
  std::string out;
  for (const auto& [name, value] : fingerprint) {
    std::string line = str(name, " = ", value);
    std::replace(line.begin(), line.end(), '\n', ' ');
    out += line + "\n";
  }
  return out;
}

Fingerprint fingerprint_of(const std::string& text) {
  Fingerprint out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find(" = "); at != std::string::npos)
      out.emplace_back(line.substr(0, at), line.substr(at + 3));
  return out;
}

}  // namespace thtrain
