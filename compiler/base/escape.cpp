#include "compiler/base/escape.h"

#include <algorithm>
#include <charconv>

namespace thtrain {

// Bytes of the UTF-8 character at the beginning of `text`; 0 where there is none, or one that changes how the rest of
// the line is shown: C1 controls, line and paragraph separators, marks and overrides of direction.
static size_t shown_character(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  unsigned code = length == 1 ? first : length == 2 ? first & 0x1f : length == 3 ? first & 0x0f : first & 0x07;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
                       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control ? 0 : length;
}

std::string escaped(std::string_view name) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  while (!name.empty()) {
    const char c = name[0];
    const size_t length = shown_character(name);
    if (c == '\\')
      out += "\\\\";
    else if (length > 0)
      out += name.substr(0, length);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += {'\\', 'x', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
    name.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    unsigned code = 0;
    const char *digits = text.data() + ++i + 1, *end = text.data() + std::min(i + 3, text.size());
    const auto hex = text[i] == 'x' ? std::from_chars(digits, end, code, 16) : std::from_chars_result{digits, {}};
    if (hex.ptr != digits) {
      out += static_cast<char>(code);
      i += static_cast<size_t>(hex.ptr - digits);
    } else {
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return out;
}

}  // namespace thtrain
