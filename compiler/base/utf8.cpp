#include "compiler/base/utf8.h"

#include <algorithm>

namespace thtrain {

// The Unicode Standard 15.0, table 3-7: the first byte says how many follow and what the second one may be.
CodePoint code_point_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first};
  const CodePoint none{first, 1, false};
  const size_t bytes = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes == 0 || bytes > text.size() - at) return none;
  char32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (begins_character(text[at + i])) return none;
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  return is_overlong || !is_code_point(code) ? none : CodePoint{code, bytes};
}

size_t first_not_utf8(std::string_view text) {
  unsigned char any = 0;  // a loop without branches: most text is ASCII
  for (char c : text) any = static_cast<unsigned char>(any | static_cast<unsigned char>(c));
  if (any < 0x80) return std::string_view::npos;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!point.valid) return at;
    at += point.bytes;
  }
  return std::string_view::npos;
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    out.push_back(point.valid ? point.code : kReplacementCharacter);
    at += point.bytes;
  }
  return out;
}

void append_utf8(std::string& out, char32_t code) {
  if (!is_code_point(code)) code = kReplacementCharacter;
  auto add = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  auto add_tail = [&](int shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add_tail(12);
    }
    add_tail(6);
  }
  add_tail(0);
}

int character_count(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins_character));
}

size_t byte_of_character(std::string_view text, int index) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && --index < 0) break;
  return at;
}

size_t whole_characters(std::string_view text, size_t most) {
  size_t length = std::min(most, text.size());
  while (length < text.size() && length > 0 && !begins_character(text[length])) --length;
  return length;
}

}  // namespace thtrain
