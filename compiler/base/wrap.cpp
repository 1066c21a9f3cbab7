#include "compiler/base/wrap.h"

#include <algorithm>

namespace thtrain {

std::vector<std::string> wrapped(std::string_view text, size_t first_width, size_t width) {
  std::vector<std::string> lines;
  size_t room = first_width;
  while (text.size() > room) {
    size_t end = text.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' ', room), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    room = width;
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace thtrain
