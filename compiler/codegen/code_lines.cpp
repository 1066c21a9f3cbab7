#include "compiler/codegen/code_lines.h"

#include <cctype>

#include "compiler/base/wrap.h"

namespace thtrain {

static constexpr size_t kLineLength = 120;

std::string lines_of(const std::string& text, size_t indent, size_t deeper, std::string_view mark) {
  std::string out;
  std::string_view line_mark;
  size_t margin = indent;
  for (const std::string& line : wrapped(text, kLineLength - indent, kLineLength - indent - deeper - mark.size())) {
    out.append(margin, ' ').append(line_mark).append(line) += '\n';
    margin = indent + deeper;
    line_mark = mark;
  }
  return out;
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
