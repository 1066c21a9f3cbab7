#include "cli/toml_nesting.h"

#include <algorithm>
#include <vector>

namespace thtrain {

// Behind the string that begins at `at`; one that does not end, ends with its line.
static size_t end_of_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool has_lines = text.substr(at, 3) == three;
  for (size_t i = at + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"')
      ++i;
    else if (has_lines && text.substr(i, 3) == three)
      return i + 3;
    else if (!has_lines && text[i] == quote)
      return i + 1;
    else if (!has_lines && text[i] == '\n')
      return i;
  }
  return text.size();
}

size_t first_too_deep(std::string_view text) {
  std::vector<size_t> open;     // the levels of each bracket that is open: its own and those of its key
  size_t levels = 0, dots = 0;  // of all of them; of the key that is being read
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '[' || c == '{') {
      open.push_back(dots + 1);
      levels += open.back();
      dots = 0;
    } else if (c == ']' || c == '}') {
      if (!open.empty()) levels -= open.back(), open.pop_back();
      dots = 0;
    } else if (c == '.') {
      ++dots;
    } else if (c == ',' || c == '\n') {
      dots = 0;
    }
    if (levels + dots > kMaxLevels) return i;
    ++i;
  }
  return std::string_view::npos;
}

}  // namespace thtrain
