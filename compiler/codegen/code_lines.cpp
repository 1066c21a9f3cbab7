#include "compiler/codegen/code_lines.h"

#include <algorithm>
#include <cctype>

#include "compiler/base/wrap.h"

namespace thtrain {

static constexpr size_t kLineLength = 120;
// Of lines that are indented so far that nothing is left.
static constexpr size_t kLeastWidth = 40;

std::string lines_of(const std::string& text, size_t indent, size_t deeper, std::string_view mark) {
  std::string out;
  std::string_view line_mark;
  size_t margin = indent;
  auto width = [](size_t taken) { return std::max(kLeastWidth, kLineLength - std::min(kLineLength, taken)); };
  for (const std::string& line : wrapped(text, width(indent), width(indent + deeper + mark.size()))) {
    out.append(margin, ' ').append(line_mark).append(line) += '\n';
    margin = indent + deeper;
    line_mark = mark;
  }
  return out;
}

std::string opening_lines(const std::string& text, const std::string& comment, size_t indent) {
  const std::string line = std::string(indent, ' ') + text + "  // " + comment;
  if (line.size() <= kLineLength) return line + "\n";
  return lines_of("// " + comment, indent, 0, "// ") + lines_of(text, indent, 4);
}

bool mentions(const std::string& text, const std::string& word) {
  auto is_in_words = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!is_in_words(at - 1) && !is_in_words(at + word.size())) return true;
  return false;
}

}  // namespace thtrain
