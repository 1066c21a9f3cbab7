#include "cli/completion/completion.h"

#include "compiler/base/str.h"

namespace thtrain {

const std::vector<std::string>& completed_shells() {
  static const std::vector<std::string> names = {"bash", "zsh", "fish"};
  return names;
}

Takes takes(const ListedOption& option) {
  const bool has_position = !option.name.starts_with("--");
  if (!option.choices.empty()) return Takes::kWords;
  if (!has_position) {
    if (option.type.empty()) return Takes::kNothing;
    if (option.type == "DIR") return Takes::kFolder;
    return option.type == "FILE" || option.type == "PATH" ? Takes::kFile : Takes::kOther;
  }
  if (option.type.empty()) return Takes::kOther;  // of one that is named after something else
  if (option.name == "key=value") return Takes::kPairs;
  const bool config = option.name.find("CONFIG") != std::string::npos,
             run = option.name.find("DIR") != std::string::npos || option.name == "RUN";
  if (config && run) return Takes::kConfigOrRun;
  return config ? Takes::kConfig : run ? Takes::kRun : Takes::kOther;
}

std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace thtrain
