#include "compiler/tuning/trial_answers.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"

namespace thtrain {

std::string text_of(const TrialLine& line) {
  return join(line, "\t", [](const std::string& field) { return escaped(field); }) + "\n";
}

std::vector<TrialLine> trial_lines(std::string_view text) {
  std::vector<TrialLine> out;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    TrialLine& line = out.emplace_back();
    for (size_t at = 0, next; at <= end; at = next + 1) {
      next = std::min(text.find('\t', at), end);
      line.push_back(unescaped(text.substr(at, next - at)));
    }
  }
  return out;
}

}  // namespace thtrain
